"""Find what set a round's length: the chain of phases, followed backwards from its end.

The cloud's aggregation had to wait for the update that arrived last. The chain leads from that
update back through its sender: a client's computing and download, or an edge server's own rounds,
latest first, each with the client that came last there. Where cells overlap, a client has several
servers: its device trains for one after another, and may have waited for another server's model. A
server may compute as well: beside its clients, or before and after their part. Time that no phase
of the chain covers is waiting.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from contracts.events import Phase
from reports.records.events import Event


@dataclass(frozen=True, slots=True)
class Step:
    """A section of the path; a wait belongs to the node that did not start its next phase."""

    node: str
    phase: str
    start: float
    end: float
    peer: str | None = field(default=None, compare=False)  # of a transfer


class PhaseIndex:
    """An index of a run's phases, so that a path is found without searching all events."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.rounds: list[Event] = []
        self._phases: dict[tuple[str, str, int, str], Event] = {}
        self._devices: dict[str, list[Event]] = {}
        self._last_uploads: dict[tuple[str, int], Event] = {}
        self._served: dict[tuple[str, int], list[int]] = {}
        for event in events:
            self._file(event)
        self.rounds.sort(key=lambda event: event.round)
        for done in self._devices.values():
            done.sort(key=_end)

    def phase(
        self, node: str, phase: Phase, local_round: int, peer: str | None = None
    ) -> Event | None:
        """Return the phase with this peer or, if there is none, the one without a peer."""
        found = self._phases.get((node, phase, local_round, peer or ""))
        return found or self._phases.get((node, phase, local_round, ""))

    def before(self, node: str, moment: float) -> Iterator[Event]:
        """Yield computing and downloads backwards: each ended before the one after it began."""
        done = self._devices.get(node, [])
        place = len(done)
        while (place := bisect_right(done, moment, hi=place, key=_end) - 1) >= 0:
            yield done[place]
            moment = done[place].start

    def computing(self, node: str, start: float, end: float) -> Iterator[Event]:
        """Yield the node's own computing that was under way in that time, latest first."""
        done = self._devices.get(node, [])
        for event in reversed(done[bisect_right(done, start, key=_end) :]):
            if event.phase == Phase.COMPUTE and event.start < end:
                yield event

    def last_upload(self, server: str, local_round: int) -> Event | None:
        """Return the update that reached the server last in that local round."""
        return self._last_uploads.get((server, local_round))

    def served(self, server: str, round: int) -> list[int]:
        """Return the local rounds that a server held in a global round, latest first."""
        return sorted(self._served.get((server, round), ()), reverse=True)

    def _file(self, event: Event) -> None:
        if event.phase == Phase.ROUND:
            self.rounds.append(event)
        if event.local_round is None:
            return
        self._phases[event.node, event.phase, event.local_round, event.peer or ""] = event
        if event.phase in (Phase.COMPUTE, Phase.DOWNLOAD):
            self._devices.setdefault(event.node, []).append(event)
        if event.phase == Phase.AGGREGATE:
            self._served.setdefault((event.node, event.round), []).append(event.local_round)
        if event.phase == Phase.UPLOAD and event.peer is not None:
            key = event.peer, event.local_round
            before = self._last_uploads.get(key)
            if before is None or event.end > before.end:
                self._last_uploads[key] = event


def critical_path(index: PhaseIndex, round: Event) -> list[Step]:
    """Return the steps from the round's start to its end, without gaps."""
    walk = _Walk(index, round)
    _retrace_server(walk, index, round.node, round.round)
    return walk.steps()


def round_paths(events: Iterable[Event]) -> list[tuple[Event, list[Step]]]:
    """Return every finished round's event with its critical path, in order of rounds."""
    index = PhaseIndex(events)
    return [(event, critical_path(index, event)) for event in index.rounds]


def _retrace_server(walk: "_Walk", index: PhaseIndex, server: str, local_round: int) -> None:
    if not walk.enter(server, local_round):
        return
    aggregate = index.phase(server, Phase.AGGREGATE, local_round)
    walk.take(aggregate)
    upload = index.last_upload(server, local_round)
    own = _computed_longer(index, aggregate, upload)
    if own is not None:
        walk.take(own)
        return
    if upload is None:
        return
    walk.take(upload)
    # Without rounds, an update may answer the model of an earlier round.
    answered = upload.fields.get("answers", local_round)
    for inner in index.served(upload.node, upload.fields.get("answers", upload.round)):
        _retrace_server(walk, index, upload.node, inner)
    _retrace_device(walk, index, upload, answered)


def _computed_longer(
    index: PhaseIndex, aggregate: Event | None, upload: Event | None
) -> Event | None:
    """Return the server's own computing if aggregation waited for it after all updates."""
    if aggregate is None or upload is None:
        return None
    found = index.computing(aggregate.node, upload.end, aggregate.start)
    return next((own for own in found if own.start < upload.end), None)


def _retrace_device(walk: "_Walk", index: PhaseIndex, upload: Event, local_round: int) -> None:
    """Follow the sender's device back to the download that it could not start without."""
    own = index.phase(upload.node, Phase.COMPUTE, local_round, upload.peer)
    walk.take(own)
    began = min(own.start, upload.start) if own else upload.start
    download = index.phase(upload.node, Phase.DOWNLOAD, local_round, upload.peer)
    if download is not None and download.end > began:
        walk.take(download)  # it began before the whole model had arrived
        return
    for event in index.before(upload.node, began):
        walk.take(event)
        if event.phase == Phase.DOWNLOAD:
            return


def _end(event: Event) -> float:
    return event.end


class _Walk:
    """Goes back in time through a round and assigns every moment to exactly one step."""

    def __init__(self, index: PhaseIndex, round: Event) -> None:
        self._index = index
        self._start, self._reached = round.start, round.end
        self._waiting = round.node
        self._backwards: list[Step] = []
        self._entered: set[tuple[str, int]] = set()

    def enter(self, server: str, local_round: int) -> bool:
        """Whether a server's round comes for the first time: damaged records may go in circles."""
        fresh = (server, local_round) not in self._entered
        self._entered.add((server, local_round))
        return fresh

    def take(self, event: Event | None) -> None:
        """Add the part of a phase that is not covered yet, and the wait after it."""
        if event is None or event.start > self._reached or event.end < self._start:
            return
        self._wait(event.end)
        self._step(event.node, event.phase, event.start, event.peer)
        # Before a download, it was the sender that had not sent yet.
        sender = event.peer if event.phase == Phase.DOWNLOAD else None
        self._waiting = sender or event.node

    def steps(self) -> list[Step]:
        self._wait(self._start)
        return self._backwards[::-1]

    def _wait(self, start: float) -> None:
        """Fill the time back to `start` with waiting, and with what the waiting node computed."""
        for own in self._index.computing(self._waiting, start, self._reached):
            self._step(self._waiting, Phase.WAIT, max(start, own.end))
            self._step(self._waiting, Phase.COMPUTE, max(start, own.start))
        self._step(self._waiting, Phase.WAIT, start)

    def _step(self, node: str, phase: str, start: float, peer: str | None = None) -> None:
        start = max(start, self._start)
        if start < self._reached:
            self._backwards.append(Step(node, phase, start, self._reached, peer))
            self._reached = start
