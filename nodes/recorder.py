"""A node's record of what it spent its time on, for events.jsonl."""

import time
from typing import Unpack

from contracts.control import Events
from contracts.events import Details, EventFields, Phase
from nodes.control import Control

now = time.monotonic


class Recorder:
    """Collects events, and sends them to the launcher in batches between rounds.

    Nothing is written while a round is timed.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        self._events: list[EventFields] = []

    def phase(
        self,
        node: str,
        phase: Phase,
        start: float,
        end: float,
        round: int,
        **details: Unpack[Details],
    ) -> None:
        """Record something that took time, in this global round."""
        self._events.append(
            {"node": node, "phase": phase, "round": round, "start": start, "end": end, **details}
        )

    def note(self, node: str, what: Phase, round: int, **details: Unpack[Details]) -> None:
        """Record something that happened at one moment, such as a refusal or a deadline."""
        moment = now()
        self.phase(node, what, moment, moment, round, **details)

    def flush(self) -> None:
        """Send what was collected to the launcher."""
        if self._events:
            self._control.say(Events(self._events))
            self._events = []
