"""Who belongs to a server when clients come and go.

A client joins over the network; that it left is told by the launcher, as a base station tells the
server behind it that it has lost a phone. Both carry a count of the moments at which anything
changed, so that neither overtakes the other: a join from before the client left is stale.
"""

from collections.abc import Iterable


class Members:
    """The clients of a server now, in the order of their coming."""

    def __init__(self, names: Iterable[str]) -> None:
        self._since = dict.fromkeys(names, 0)
        self._left: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    @property
    def names(self) -> list[str]:
        """Their names, in that order."""
        return list(self._since)

    def enter(self, name: str, since: int) -> bool:
        """Whether it is in now; a join that is older than its leaving is not."""
        if since < self._left.get(name, 0):
            return False
        self._since[name] = since
        return True

    def leave(self, name: str, since: int) -> bool:
        """Whether it was in until now."""
        self._left[name] = since
        if self._since.get(name, since) >= since:
            return False
        del self._since[name]
        return True
