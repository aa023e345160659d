"""Decides which links are up: those that are attached to a cell and not hit by an outage."""

from collections import Counter
from collections.abc import Iterable
from typing import Protocol


class Switchable(Protocol):
    """A link that can be cut and brought back."""

    def set_enabled(self, enabled: bool) -> None:
        """Bring the link up, or cut it."""


class Radio:
    """Cuts links and brings them back.

    A link may have several reasons to be down at once; it comes back when the last one is gone.
    """

    def __init__(self, links: dict[str, Switchable], detached: Iterable[str] = ()) -> None:
        self._links = links
        self._reasons: Counter[str] = Counter()  # by link: how many reasons it has to be down
        self._detached: set[str] = set()
        for link in detached:
            self.detach(link)

    def attach(self, link: str) -> None:
        """Attach a link: its host hears the cell from now on."""
        if link in self._detached:
            self._detached.discard(link)
            self._mend(link)

    def detach(self, link: str) -> None:
        """Detach a link: its host no longer hears the cell."""
        if link not in self._detached:
            self._detached.add(link)
            self._break(link)

    def cut(self, links: Iterable[str]) -> None:
        """Begin an outage of these links."""
        for link in links:
            self._break(link)

    def restore(self, links: Iterable[str]) -> None:
        """End an outage of these links."""
        for link in links:
            self._mend(link)

    def _break(self, link: str) -> None:
        self._reasons[link] += 1
        if self._reasons[link] == 1:
            self._links[link].set_enabled(False)

    def _mend(self, link: str) -> None:
        self._reasons[link] -= 1
        if self._reasons[link] == 0:
            self._links[link].set_enabled(True)
