"""Which links carry anything: those that are attached, and not struck by an outage."""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol


class Switchable(Protocol):
    """A link that can be cut and brought back."""

    def set_up(self, up: bool) -> None:
        """Bring the link up, or cut it."""


class Radio:
    """Cuts links and brings them back; several reasons to be down at once are counted."""

    def __init__(self, links: dict[str, Switchable], detached: Iterable[str] = ()) -> None:
        self._links = links
        self._reasons: Counter[str] = Counter()  # by link, why it is down
        self._detached: set[str] = set()
        for link in detached:
            self.detach(link)

    def attach(self, link: str) -> None:
        """The host has come to hear the cell."""
        if link in self._detached:
            self._detached.discard(link)
            self._mend(link)

    def detach(self, link: str) -> None:
        """The host does not hear the cell any more."""
        if link not in self._detached:
            self._detached.add(link)
            self._break(link)

    def cut(self, links: Iterable[str]) -> None:
        """An outage begins."""
        for link in links:
            self._break(link)

    def restore(self, links: Iterable[str]) -> None:
        """That outage is over."""
        for link in links:
            self._mend(link)

    def _break(self, link: str) -> None:
        self._reasons[link] += 1
        if self._reasons[link] == 1:
            self._links[link].set_up(False)

    def _mend(self, link: str) -> None:
        self._reasons[link] -= 1
        if self._reasons[link] == 0:
            self._links[link].set_up(True)
