"""A run's rounds walked again with something changed: what would they have taken then?

Every recorded phase began when the phases it needed were over: a device computes once the models
are there and its last training is done, a server aggregates once the updates are there, and sends
once it has aggregated. What else delayed it (a deadline, somebody who left, a wait that no phase
explains) stays as long as it was. So a change of some phases' lengths moves all that follows, and
where another chain of phases becomes the longest, that one sets the round.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from netem.transfer_time import Transfer
from reports.events import Event
from reports.used_links import UP, WAYS, UsedLinks
from scenarios.plan import Plan

_OWN = ("compute", "aggregate", "download", "deadline")  # what a node gets on after
_PHASES = (*_OWN, "supply", "upload", "abandoned")
_GRAIN = 1e-6  # seconds: what began so little before another ended may have waited for it


@dataclass(frozen=True)
class Change:
    """Factors on the links of one tier, or on the devices of one role."""

    place: str
    rate_up: float = 1.0
    rate_down: float = 1.0
    delay: float = 1.0
    speed: float = 1.0  # of training
    memory: float = 1.0  # of aggregating

    def faster(self, phase: str) -> float:
        return {"compute": self.speed, "aggregate": self.memory}.get(phase, 1.0)


class Replay:
    """The phases of a run, each with those it waited for."""

    def __init__(self, events: Iterable[Event], plan: Plan) -> None:
        phases = [event for event in events if event.phase in _PHASES]
        self._events = sorted(phases, key=lambda event: (event.start, event.end))
        self._links = UsedLinks(plan)
        self._roles = {node.name: node.role for node in plan.nodes}
        self._supplies = {
            (e.node, e.peer, e.number): e.bytes for e in self._events if e.phase == "supply"
        }
        self._waits = list(_waits(self._events))
        tops = set(plan.tops)
        self._rounds = list(_rounds(events, self._events, tops))

    def elapsed(self, change: Change) -> float:
        """Seconds until the last finished round would have ended."""
        ends = self._ends(change)
        return max((max(ends[i] for i in of) + gap for of, gap in self._rounds), default=0.0)

    def _ends(self, change: Change) -> list[float]:
        ends: list[float] = []
        for event, (before, gap) in zip(self._events, self._waits, strict=True):
            start = max(ends[i] for i in before) + gap if before else event.start
            ends.append(start + self._seconds(event, change))
        return ends

    def _seconds(self, event: Event, change: Change) -> float:
        if event.phase in WAYS:
            link = self._links.of(event)
            on_tier = link is not None and link.tier == change.place
            return self._transfer(event, change) if on_tier else event.seconds
        if self._roles.get(event.node) == change.place:
            return event.seconds / change.faster(event.phase)
        return event.seconds

    def _transfer(self, event: Event, change: Change) -> float:
        """As TCP's slow start over such a link predicts; what it does not explain stays."""
        link = self._links.of(event)
        shapes = self._links.shapes(link, event.start) if link else None
        if shapes is None:
            return event.seconds
        up, down = shapes
        is_up = WAYS[event.phase] == UP
        own, faster = (up, change.rate_up) if is_up else (down, change.rate_down)
        size, trip = self._size(event), up.delay + down.delay
        rate = inf if own.rate is None else own.rate
        was = Transfer(size, rate, own.delay, trip)
        now = Transfer(size, rate * faster, own.delay * change.delay, trip * change.delay)
        return _changed(event.seconds, was, now)

    def _size(self, event: Event) -> int:
        """What went ahead of the first model took the same link's time."""
        ahead = (event.node, event.peer, event.number) if event.phase == "download" else None
        return event.bytes + self._supplies.get(ahead, 0) if ahead else event.bytes


def _changed(seconds: float, was: Transfer, now: Transfer) -> float:
    """A connection that was used just before starts with a larger window: less idle, or none."""
    more, idle = seconds - was.ideal_seconds, was.slow_start_seconds
    cold = min(1.0, max(0.0, more / idle)) if idle else 1.0
    rest = more - cold * idle
    return max(0.0, now.ideal_seconds + cold * now.slow_start_seconds + rest)


def _waits(events: list[Event]) -> Iterator[tuple[list[int], float]]:
    """For each phase those it waited for, and how long after the last of them it began."""
    seen = _Seen(events)
    for place, event in enumerate(events):
        before = [i for i in seen.before(event) if i < place]
        last = max((events[i].end for i in before), default=event.start)
        yield before, event.start - last


class _Seen:
    """Finds what a phase had to wait for."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._own: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._arrivals: dict[tuple[str | None, int | None], list[int]] = defaultdict(list)
        for place, event in enumerate(events):
            if event.phase in _OWN:
                self._own[event.node, event.phase].append(place)
            elif event.phase in ("upload", "abandoned"):
                self._arrivals[event.peer, event.number].append(place)
        for places in self._own.values():
            places.sort(key=self._end)

    def before(self, event: Event) -> Iterator[int]:
        if event.phase == "abandoned":
            return  # the timeline's hour is fixed
        sends = event.phase in ("download", "supply")
        origin = event.peer if sends and event.peer is not None else event.node
        for phase in _OWN:
            last = self._last(origin, phase, event.start)
            yield from last
        if event.phase == "compute":
            yield from self._models(event)
        if event.phase in ("aggregate", "compute"):
            yield from self._updates(event)

    def _last(self, node: str, phase: str, moment: float) -> list[int]:
        places = self._own.get((node, phase), [])
        last = bisect_right(places, moment + _GRAIN, key=self._end)
        return places[last - 1 : last] if last else []

    def _models(self, event: Event) -> Iterator[int]:
        """All that had come since the device last began to train: it waits for several servers."""
        last = self._last(event.node, "compute", event.start)
        since = self._events[last[0]].start if last else -inf
        places = self._own.get((event.node, "download"), [])
        first = bisect_right(places, since, key=self._end)
        yield from places[first : bisect_right(places, event.start + _GRAIN, key=self._end)]

    def _updates(self, event: Event) -> list[int]:
        """Of the same round; none when the server began beside its clients' training."""
        arrived = self._arrivals.get((event.node, event.number), [])
        there = [i for i in arrived if self._end(i) <= event.start + _GRAIN]
        return there if event.phase == "aggregate" or len(there) == len(arrived) else []

    def _end(self, place: int) -> float:
        return self._events[place].end


def _rounds(
    events: Iterable[Event], phases: list[Event], tops: set[str]
) -> Iterator[tuple[list[int], float]]:
    """For each finished round the phases at its end, and how long after them it was over."""
    at_end: dict[int, list[int]] = defaultdict(list)
    for place, event in enumerate(phases):
        if event.node in tops and event.phase in ("aggregate", "compute"):
            at_end[event.round].append(place)
    for event in events:
        if event.phase == "round":
            done = [i for i in at_end[event.round] if phases[i].end <= event.end + _GRAIN]
            if done:
                yield done, event.end - max(phases[i].end for i in done)
