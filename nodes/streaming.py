"""A server without rounds: models go to whoever is idle, and updates are taken one by one.

What counts as a round is one aggregation. docs/streaming.md has the rules.
"""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from contracts.events import Phase
from contracts.messages import Kind
from nodes.recorder import now
from nodes.rounds import RoundServer
from protocols import streaming
from protocols.wire import Expected, Message, Refused


class StreamingServer(RoundServer):
    """Runs the aggregations of the cloud or of an edge whose method has no rounds."""

    takes_updates_between_rounds = True

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        assert isinstance(self._method, streaming.Server)
        self._stream: streaming.Server = self._method
        self._asked: dict[str, int] = {}  # the local round of the model that a child was sent last
        self._awaited: set[str] = set()  # the children whose update is on its way
        self._early: deque[tuple[Message, float]] = deque()  # came while there was no aggregation
        self._attendance.await_updates(self._awaited, self._asked)

    def run(
        self, local_round: int, round: int, after_sending: Callable[[], None] = lambda: None
    ) -> None:
        """Go on until the next aggregation is done, the `local_round`-th, in global round `round`.

        `after_sending` is called once the first models are on their way.
        """
        self._log.start_round(round, local_round)
        self._attendance.settle()
        start = now()
        self._send_to_idle()
        after_sending()
        arrivals = self._collect_wanted(start + self._plan.limits.round)
        last = now()
        for child, arrived in arrivals.items():
            if child not in self._awaited:
                self._log.phase(child, Phase.WAIT, arrived, last)
        self._log.phase(self._spec.name, Phase.WAIT, start, last)
        self._aggregate(last, bool(arrivals))

    def handle_joins_and_departures(self) -> None:
        """Handle who has come and who has left, and keep updates for the next aggregation."""
        self._attendance.see_off()
        while self.endpoint.has_message():
            message = self.endpoint.receive(now(), self._expected())
            if message is not None and message.kind == Kind.JOIN:
                self._attendance.let_in(message)
            elif message is not None:
                self._early.append((message, now()))

    def _collect_wanted(self, deadline: float) -> dict[str, float]:
        """Combine updates until an aggregation has what it wants; return when each one came."""
        arrivals: dict[str, float] = {}
        added = self._received = 0
        while added < self._stream.wanted and not (added and self._nobody_left()):
            message, arrived = self._next_message(deadline)
            if message is None:
                if now() >= deadline:
                    if self._makes_do(added):
                        break
                    deadline = now() + self._plan.limits.round
            elif message.kind == Kind.JOIN:
                self._attendance.let_in(message)
            elif self._takes(message, arrived):
                arrivals[message.sender] = arrived
                added += 1
            if added < self._stream.wanted:
                self._send_to_idle()
        return arrivals

    def _next_message(self, deadline: float) -> tuple[Message | None, float]:
        """Return the next message and when it came; None at the deadline and after a departure."""
        if self._early:
            return self._early.popleft()
        message = self._attendance.next_message(deadline, self._expected())
        return message, now()

    def _takes(self, message: Message, arrived: float) -> bool:
        """Combine and record an update; False if it is not awaited, or the method refuses it."""
        child = message.sender
        if child not in self._awaited or message.local_round != self._asked[child]:
            self.endpoint.refuse(child, Refused("round", f"{message.local_round} is not awaited"))
            return False
        message.meta[streaming.STALENESS] = self._log.local_round - message.local_round
        if not self._accept(message, arrived, answers=message.local_round):
            return False
        self._awaited.discard(child)
        return True

    def _makes_do(self, added: int) -> bool:
        """At the deadline: True to aggregate what has come, False to wait once more."""
        self._log.note(self._spec.name, Phase.DEADLINE, missing=sorted(self._awaited))
        if not self._attendance.names:
            return True
        return self._late.goes_on(self._log.global_round, self._awaited, added, self._stream.wanted)

    def _send_to_idle(self) -> None:
        """Send the model to as many as may hold one, of those who have not had this one yet."""
        idle = self._idle()
        room = self._stream.at_once(len(self._attendance.names)) - len(self._awaited)
        drawn = self._drawn(idle, room)
        for child in self._participation.chosen(self._log.local_round, idle, drawn)[:room]:
            self._asked[child] = self._log.local_round
            if self._send_model(child):
                self._awaited.add(child)

    def _idle(self) -> list[str]:
        """Return who is waiting for a model that it has not had yet."""
        current = self._log.local_round
        return [
            name
            for name in self._attendance.names
            if name not in self._awaited and self._asked.get(name) != current
        ]

    def _drawn(self, idle: list[str], room: int) -> list[str]:
        """Choose as many as there is room for: by the seeded draw, or as the method selects."""
        if room < len(idle):
            key = f"{self._plan.seed}/{self._spec.name}/{self._log.local_round}/{len(idle)}"
            lucky = set(random.Random(key).sample(sorted(idle), max(0, room)))
        else:
            lucky = set(idle)
        drawn = [name for name in idle if name in lucky]
        return self._participation.chosen(self._log.local_round, idle, drawn)[: max(0, room)]

    def _nobody_left(self) -> bool:
        """Whether no child could send another update before the next aggregation."""
        return not self._awaited and not self._idle()

    def _expected(self) -> Expected:
        """What may arrive at any time: updates, and joins where clients come and go."""
        return replace(super()._expected(), local_round=None)
