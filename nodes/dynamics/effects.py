"""What the timeline needs from the launcher: control over processes, and a place to record."""

from typing import Protocol, Unpack

from contracts.control import Word
from contracts.events import Details, Phase


class Processes(Protocol):
    """The nodes' processes, as far as the timeline acts upon them."""

    def say(self, node: str, said: Word) -> None:
        """Tell a node something over its control line; ignored if it has ended."""

    def crash(self, node: str) -> None:
        """End a node's process at once."""

    def restart(self, node: str) -> None:
        """Start a new process for a node whose process was ended."""


class Record(Protocol):
    """Writes an event to events.jsonl; times are seconds from time zero."""

    def __call__(
        self, node: str, phase: Phase, start: float, end: float, **details: Unpack[Details]
    ) -> None:
        """Write one event; `details` are those of its phase (contracts/events.py)."""
