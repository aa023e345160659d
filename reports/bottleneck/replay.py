"""Replay a run's rounds with something changed, to estimate how long they would have taken.

Every recorded phase began when the phases it depends on were over: a device computes once its
models have arrived and its previous training is done, a server aggregates once the updates have
arrived, and sends once it has aggregated. Whatever else delayed a phase (a deadline, a client that
left, a wait that no phase explains) stays as long as it was. Changing the length of some phases
therefore moves everything that follows, and if another chain of phases becomes the longest, that
one determines the round.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

from contracts.events import Phase
from contracts.links import Shape
from contracts.plan import Plan
from netem.transfer_time import Transfer
from reports.bottleneck.used_links import DIRECTION_OF_PHASE, UP, UsedLinks
from reports.records.events import Event

# The phases after which a node continues.
_OWN = (Phase.COMPUTE, Phase.AGGREGATE, Phase.DOWNLOAD, Phase.DEADLINE)
_PHASES = (*_OWN, Phase.SUPPLY, Phase.UPLOAD, Phase.ABANDONED)
_GRAIN = 1e-6  # seconds: a phase that began this little before another ended may have waited for it


@dataclass(frozen=True)
class Change:
    """Factors on the links of one tier, or on the devices of one role."""

    place: str
    rate_up: float = 1.0
    rate_down: float = 1.0
    delay: float = 1.0
    speed: float = 1.0  # of training
    memory: float = 1.0  # of aggregating

    def speed_up_of(self, phase: str) -> float:
        """Return how many times faster this phase would be."""
        if phase == Phase.COMPUTE:
            return self.speed
        return self.memory if phase == Phase.AGGREGATE else 1.0


class Replay:
    """The phases of a run, each with the phases it waited for."""

    def __init__(self, events: Sequence[Event], plan: Plan) -> None:
        phases = [event for event in events if event.phase in _PHASES]
        self._events = sorted(phases, key=lambda event: (event.start, event.end))
        self._links = UsedLinks(plan)
        self._beside_tensors = plan.bytes_beside_tensors
        self._roles = {node.name: node.role for node in plan.nodes}
        self._supplies = {
            (e.node, e.peer, e.local_round): e.bytes
            for e in self._events
            if e.phase == Phase.SUPPLY
        }
        self._lengths = [event.seconds for event in self._events]
        self._at: dict[str | None, list[int]] = defaultdict(list)
        for i, place in enumerate(self._places()):
            self._at[place].append(i)
        self._waits = list(_waits(self._events))
        self._outages = [(e.start, e.end) for e in events if e.phase == Phase.OUTAGE]
        self.without_rounds = any("answers" in event.fields for event in phases)
        self._rounds = list(_rounds(events, self._events, set(plan.tops)))
        ends = [event.end for event in self._events]
        self.recorded_seconds = self._last_end(ends)

    def elapsed(self, change: Change) -> float:
        """Return the seconds until the last finished round would have ended."""
        return self._last_end(self._ends(change))

    def _last_end(self, ends: Sequence[float]) -> float:
        return max((max(ends[i] for i in of) + gap for of, gap in self._rounds), default=0.0)

    def _ends(self, change: Change) -> list[float]:
        lengths = self._lengths.copy()
        for i in self._at.get(change.place, ()):
            lengths[i] = self._changed_length(self._events[i], change)
        ends: list[float] = []
        end_of = ends.__getitem__
        for event, length, (before, gap) in zip(self._events, lengths, self._waits, strict=True):
            start = max(map(end_of, before)) + gap if before else event.start
            ends.append(start + length)
        return ends

    def _places(self) -> Iterator[str | None]:
        """Yield each phase's place: a transfer's tier, or the node's role."""
        for event in self._events:
            if event.phase in DIRECTION_OF_PHASE:
                link = self._links.of(event)
                yield link.tier if link else None
            else:
                yield self._roles.get(event.node)

    def _changed_length(self, event: Event, change: Change) -> float:
        if event.phase not in DIRECTION_OF_PHASE:
            return event.seconds / change.speed_up_of(event.phase)
        shapes = self._shapes(event)
        if shapes is None:
            return event.seconds
        up, down = shapes
        is_up = DIRECTION_OF_PHASE[event.phase] == UP
        own, faster = (up, change.rate_up) if is_up else (down, change.rate_down)
        size, trip = self._size(event), up.delay + down.delay
        rate = inf if own.rate is None else own.rate
        was = _times(size, rate, own.delay, trip)
        now = _times(size, rate * faster, own.delay * change.delay, trip * change.delay)
        # When packets are lost or reordered, TCP needs round trips to recover.
        erratic = (own.jitter > 0 or own.loss > 0) and not self._was_cut(event)
        return _changed(event.seconds, was, now, change.delay if erratic else 1.0)

    def _shapes(self, event: Event) -> tuple[Shape, Shape] | None:
        """Return how a transfer's link was shaped at the time."""
        link = self._links.of(event)
        return self._links.shapes(link, event.start, event.end) if link else None

    def _was_cut(self, event: Event) -> bool:
        """Whether an outage fell into this phase: its length is fixed by the timeline."""
        return any(event.start < end and start < event.end for start, end in self._outages)

    def _size(self, event: Event) -> int:
        """Return a transfer's bytes, with any data sent ahead of the first model."""
        size = event.bytes + self._beside_tensors
        if event.phase != Phase.DOWNLOAD:
            return size
        return size + self._supplies.get((event.node, event.peer, event.local_round), 0)


@cache
def _times(size: int, rate: float, delay: float, round_trip: float) -> tuple[float, float]:
    """Return the shortest possible time of a transfer, and its idle time in slow start."""
    transfer = Transfer(size, rate, delay, round_trip)
    return transfer.ideal_seconds, transfer.slow_start_seconds


def _changed(
    seconds: float, was: tuple[float, float], now: tuple[float, float], of_the_rest: float
) -> float:
    """Return the new length of a transfer: TCP's slow start is recomputed, the rest is kept.

    A connection that was used shortly before starts with a larger window, and so has less idle time
    or none.
    """
    (ideal, idle), (new_ideal, new_idle) = was, now
    more = seconds - ideal
    cold = min(1.0, max(0.0, more / idle)) if idle else 1.0
    rest = more - cold * idle
    return max(0.0, new_ideal + cold * new_idle + of_the_rest * rest)


def _waits(events: list[Event]) -> Iterator[tuple[list[int], float]]:
    """Yield, for each phase, those it waited for and how long after the last of them it began."""
    seen = _Seen(events)
    for place, event in enumerate(events):
        before = [i for i in seen.before(event) if i < place]
        last = max((events[i].end for i in before), default=event.start)
        yield before, event.start - last


class _Seen:
    """Finds the phases that a phase had to wait for."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._own: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._arrivals: dict[tuple[str | None, int | None], list[int]] = defaultdict(list)
        for place, event in enumerate(events):
            if event.phase in _OWN:
                self._own[event.node, event.phase].append(place)
            elif event.phase in (Phase.UPLOAD, Phase.ABANDONED):
                self._arrivals[event.peer, event.local_round].append(place)
        for places in self._own.values():
            places.sort(key=self._end)

    def before(self, event: Event) -> Iterator[int]:
        if event.phase == Phase.ABANDONED:
            return  # its time is fixed by the timeline
        sends = event.phase in (Phase.DOWNLOAD, Phase.SUPPLY)
        origin = event.peer if sends and event.peer is not None else event.node
        for phase in _OWN:
            last = self._last(origin, phase, event.start)
            yield from last
        if event.phase == Phase.COMPUTE:
            yield from self._models(event)
        if event.phase in (Phase.AGGREGATE, Phase.COMPUTE):
            yield from self._updates(event)

    def _last(self, node: str, phase: str, moment: float) -> list[int]:
        places = self._own.get((node, phase), [])
        last = bisect_right(places, moment + _GRAIN, key=self._end)
        return places[last - 1 : last] if last else []

    def _models(self, event: Event) -> Iterator[int]:
        """Yield the downloads since the device last began to train, from all its servers."""
        last = self._last(event.node, Phase.COMPUTE, event.start)
        since = self._events[last[0]].start if last else -inf
        places = self._own.get((event.node, Phase.DOWNLOAD), [])
        first = bisect_right(places, since, key=self._end)
        yield from places[first : bisect_right(places, event.start + _GRAIN, key=self._end)]

    def _updates(self, event: Event) -> list[int]:
        """Return the updates of the same round; none if the server trained beside its clients."""
        arrived = self._arrivals.get((event.node, event.local_round), [])
        there = [i for i in arrived if self._end(i) <= event.start + _GRAIN]
        return there if event.phase == Phase.AGGREGATE or len(there) == len(arrived) else []

    def _end(self, place: int) -> float:
        return self._events[place].end


def _rounds(
    events: Sequence[Event], phases: list[Event], tops: set[str]
) -> Iterator[tuple[list[int], float]]:
    """Yield, for each finished round, the phases at its end and how long after them it ended."""
    at_end: dict[int, list[int]] = defaultdict(list)
    for place, event in enumerate(phases):
        if event.node in tops and event.phase in (Phase.AGGREGATE, Phase.COMPUTE):
            at_end[event.round].append(place)
    for event in events:
        if event.phase == Phase.ROUND:
            done = [i for i in at_end[event.round] if phases[i].end <= event.end + _GRAIN]
            if done:
                yield done, event.end - max(phases[i].end for i in done)
