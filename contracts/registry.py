"""What scenarios can name: the project's own, and beside it what plug-ins bring."""

import difflib
from collections.abc import Iterator, Mapping
from typing import TypeVar

from contracts.errors import BadInput
from contracts.plugins import KINDS, Plugin, brought

Found = TypeVar("Found")


class Registry(Mapping[str, Found]):
    """One kind of thing by name; `kind` is what plug-ins call the dictionary of theirs."""

    def __init__(self, kind: str, own: Mapping[str, Found]) -> None:
        self.kind, self.own = kind, own

    def __getitem__(self, name: str) -> Found:
        if name in self.own:
            return self.own[name]
        plugin = self.plugin(name)
        if plugin is None:
            raise KeyError(name)
        found: Found = plugin.names(self.kind)[name]
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        for plugin in brought():
            yield from plugin.names(self.kind)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def plugin(self, name: str) -> Plugin | None:
        """Return the plug-in that brings a name; None for the project's own."""
        return next((one for one in brought() if name in one.names(self.kind)), None)

    def code(self, name: str) -> str:
        """Return the digest of the plug-in that brings a name; empty for the project's own."""
        plugin = self.plugin(name)
        return "" if plugin is None else plugin.digest

    def check(self, name: str, place: str) -> None:
        """Raise BadInput, at this place of the scenario, if there is no such name."""
        if name in self:
            return
        close = difflib.get_close_matches(name.lower(), list(self), 1)
        hint = f'did you mean "{close[0]}"? ' if close else ""
        raise BadInput(
            f'{place}: unknown {KINDS[self.kind]} "{name}"; {hint}(there are {", ".join(self)})'
        )
