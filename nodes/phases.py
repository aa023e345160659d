"""What a node spent its time on."""

import time
from typing import Any

from nodes.control import Control

now = time.monotonic


class Recorder:
    """Collects phases and hands them to the launcher in batches, between rounds."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._events: list[dict[str, Any]] = []

    def phase(
        self, node: str, phase: str, start: float, end: float, round: int, **details: Any
    ) -> None:
        """One phase: download, compute, upload, wait or aggregate."""
        self._events.append(
            {"node": node, "phase": phase, "round": round, "start": start, "end": end, **details}
        )

    def note(self, node: str, what: str, round: int, **details: Any) -> None:
        """Something that happened at one moment: a refusal, a deadline, a decision."""
        moment = now()
        self.phase(node, what, moment, moment, round, **details)

    def flush(self) -> None:
        """Hand over what was collected."""
        if self._events:
            self._control.say("events", events=self._events)
            self._events = []
