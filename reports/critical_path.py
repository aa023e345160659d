"""What set a round's length: the chain of phases, walked backwards from the round's end.

The cloud's aggregation had to wait for the update that came last. That update's way leads back
through its sender: a client's computing and download, or an edge's own rounds, last one first, each
with the client that came last there. Whatever no phase of the chain covers is waiting.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from reports.events import Event


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of the path; a wait belongs to the node that did not get on with its next phase."""

    node: str
    phase: str
    start: float
    end: float


class PhaseIndex:
    """Finds the phases that a path needs, without searching all events every time."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.rounds: list[Event] = []
        self._phases: dict[tuple[str, str, int], Event] = {}
        self._last_uploads: dict[tuple[str, int], Event] = {}
        self._served: dict[tuple[str, int], list[int]] = {}
        for event in events:
            self._file(event)
        self.rounds.sort(key=lambda event: event.round)

    def phase(self, node: str, phase: str, number: int) -> Event | None:
        return self._phases.get((node, phase, number))

    def last_upload(self, server: str, number: int) -> Event | None:
        """The update that reached the server last in its round of that number."""
        return self._last_uploads.get((server, number))

    def served(self, server: str, round: int) -> list[int]:
        """The numbers of the rounds a server held in a global iteration, last one first."""
        return sorted(self._served.get((server, round), ()), reverse=True)

    def _file(self, event: Event) -> None:
        if event.phase == "round":
            self.rounds.append(event)
        if event.number is None:
            return
        self._phases[event.node, event.phase, event.number] = event
        if event.phase == "aggregate":
            self._served.setdefault((event.node, event.round), []).append(event.number)
        if event.phase == "upload" and event.peer is not None:
            key = event.peer, event.number
            before = self._last_uploads.get(key)
            if before is None or event.end > before.end:
                self._last_uploads[key] = event


def critical_path(index: PhaseIndex, round: Event) -> list[Step]:
    """The steps from the round's start to its end, each beginning where the one before ended."""
    walk = _Walk(round)
    _retrace_server(walk, index, round.node, round.round)
    return walk.steps()


def _retrace_server(walk: "_Walk", index: PhaseIndex, server: str, number: int) -> None:
    walk.take(index.phase(server, "aggregate", number))
    upload = index.last_upload(server, number)
    if upload is None:
        return
    walk.take(upload)
    for inner in index.served(upload.node, upload.round):
        _retrace_server(walk, index, upload.node, inner)
    walk.take(index.phase(upload.node, "compute", number))
    walk.take(index.phase(upload.node, "download", number))


class _Walk:
    """Goes back in time through a round; every moment is given to one step only."""

    def __init__(self, round: Event) -> None:
        self._start, self._reached = round.start, round.end
        self._waiting = round.node
        self._backwards: list[Step] = []

    def take(self, event: Event | None) -> None:
        """The part of a phase that is not covered yet, and the wait after it."""
        if event is None or event.start > self._reached or event.end < self._start:
            return
        self._step(self._waiting, "wait", event.end)
        self._step(event.node, event.phase, event.start)
        # Before a download it was its sender who had not sent yet.
        sender = event.peer if event.phase == "download" else None
        self._waiting = sender or event.node

    def steps(self) -> list[Step]:
        self._step(self._waiting, "wait", self._start)
        return self._backwards[::-1]

    def _step(self, node: str, phase: str, start: float) -> None:
        start = max(start, self._start)
        if start < self._reached:
            self._backwards.append(Step(node, phase, start, self._reached))
            self._reached = start
