"""Replay a run whose transfers meet on shared links: how long one takes depends on the others.

Transfers are treated as flows of a liquid (reports/bottleneck/flows.py). What a recorded transfer
took beyond that (delays, TCP's slow start) is kept. The flows also tell which link of its path
limited a transfer, and for how long.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import inf

from contracts.links import LinkSpec, Shape
from contracts.paths import end_to_end
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from netem.transfer_time import Transfer
from reports.bottleneck.critical_path import Step
from reports.bottleneck.fair_shares import Resource
from reports.bottleneck.flows import GRAIN, Flow, Flows
from reports.bottleneck.replay import Change, Replay
from reports.bottleneck.used_links import DIRECTION_OF_PHASE, DOWN, UP
from reports.records.events import Event

DISTANCE = "distance"  # the place of what no link's rate explains, in a graph


class SharedReplay(Replay):
    """A replay in which transfers share links."""

    def __init__(self, events: Sequence[Event], plan: Plan) -> None:
        super().__init__(events, plan)
        self._plan = plan
        self._specs = {link.name: link for link in plan.links_and_trunks}
        self._vary = {link.name for link in plan.links if link.trace is not None}
        for change in plan.timeline:
            if isinstance(change, LinkChangeEvent):
                self._vary.update(change.links)
        self._at_times: dict[Resource, float] = {}  # rates of links that vary, by transfer
        self._paths = [self._path(number, event) for number, event in enumerate(self._events)]
        self._followers: dict[int, list[int]] = defaultdict(list)
        for place, (before, _) in enumerate(self._waits):
            for earlier in before:
                self._followers[earlier].append(place)
        self._flowed: dict[int, Flow] = {}
        self._took: dict[int, float] = {}
        flows = Flows(self._capacity(Change("")))
        for now, over in self._as_recorded(flows):
            for number, flow in over.items():
                self._flowed[number], self._took[number] = flow, now - flow.began
        self.most_at_once = self._at_once(flows)
        self._at_time: dict[tuple[str, str, str | None], list[int]] = defaultdict(list)
        for number in self._flowed:
            event = self._events[number]
            self._at_time[event.node, event.phase, event.peer].append(number)

    def elapsed(self, change: Change) -> float:
        """Return the seconds until the last finished round would have ended.

        Liquids share more evenly than TCP does. By how much the run as it was differs from its
        replay, all others are taken to differ too.
        """
        return super().elapsed(change) * self._scale

    @cached_property
    def _scale(self) -> float:
        replayed = super().elapsed(Change(""))
        return self.recorded_seconds / replayed if replayed else 1.0

    def limits(self, step: Step) -> Iterator[tuple[LinkSpec, str, float]]:
        """Yield the links that limited a step, in which direction, and for what share of it."""
        for number in self._at_time.get((step.node, step.phase, step.peer), ()):
            event = self._events[number]
            if event.start <= step.start and step.end <= event.end and event.seconds > 0:
                whole = max(self._took[number], event.seconds)
                for resource, seconds in self._flowed[number].limited.items():
                    if resource is not None:
                        link = self._specs[resource[0]]
                        # A host's own link may be crossed towards the host, in a graph.
                        way = resource[1] if link.tier else DIRECTION_OF_PHASE[step.phase]
                        yield link, way, seconds / whole
                return

    def _ends(self, change: Change) -> list[float]:
        lengths = self._lengths.copy()
        everywhere = self._took if change.place == DISTANCE else ()
        for i in (*self._at.get(change.place, ()), *everywhere):
            only_delay = Change(change.place, delay=change.delay)
            shared = self._paths[i] and i in self._took
            lengths[i] = self._changed_length(self._events[i], only_delay if shared else change)
        run = _Run(self._events, self._waits, self._followers)
        flows = Flows(self._capacity(change))
        while run.goes_on(flows):
            number = run.next_start(flows)
            if number is None:
                for done, flow in flows.ended(run.now).items():
                    ratio = self._crowding(flow, change)
                    run.end(done, self._end(done, flow, run.now, lengths[done], ratio))
            elif number in self._took:
                flows.begin(number, self._paths[number], self._bits(number), run.now)
            else:
                run.end(number, run.now + lengths[number])
        return run.ends

    def _shapes(self, event: Event) -> tuple[Shape, Shape] | None:
        """Return what all links on a transfer's way through a graph do together."""
        link = self._links.of(event) if self._plan.trunks else None
        return end_to_end(self._plan.path(link)) if link else super()._shapes(event)

    def _crowding(self, flow: Flow, change: Change) -> float:
        """Return by how much the shared links that a flow crosses are more crowded than before."""
        factors = {UP: change.rate_down, DOWN: change.rate_up}  # leaving a server is a way down
        crossed = [(self._specs[name], way) for name, way in flow.path]
        faster = [factors[way] for link, way in crossed if link.shared == change.place]
        return 1 / max(faster, default=1.0)

    def _end(self, number: int, flow: Flow, now: float, length: float, crowding: float) -> float:
        """Return when a transfer is over whose flow has ended now.

        Delay and slow start are kept. What it took besides, or less than a fair share would have
        taken, comes of crowding (queues, lost packets), and grows and shrinks with that.
        """
        took, takes = self._took[number], now - flow.began
        if not took:
            return now + length
        kept = min(max(0.0, length - took), self._delay(number))
        return now + kept + (length - took - kept) * min(takes / took, crowding)

    def _delay(self, number: int) -> float:
        """Return how long a transfer would take beyond its bytes if it were alone."""
        shapes = self._shapes(self._events[number])
        if shapes is None:
            return 0.0
        event = self._events[number]
        own = shapes[0 if DIRECTION_OF_PHASE[event.phase] == UP else 1]
        trip = shapes[0].delay + shapes[1].delay
        alone = Transfer(self._size(event), own.rate or inf, own.delay, trip)
        return own.delay + alone.slow_start_seconds

    def _as_recorded(self, flows: Flows) -> Iterator[tuple[float, dict[int, Flow]]]:
        """Let the transfers begin when they did, and yield those that end, with the moment."""
        before = -inf
        for number, path in enumerate(self._paths):
            if not path or not self._events[number].bytes:
                continue
            now = self._events[number].start
            while now > before + GRAIN and (end := flows.next_end()) <= now:
                yield end, flows.ended(end)
            flows.begin(number, path, self._bits(number), now)
            before = now
        while (end := flows.next_end()) < inf:
            yield end, flows.ended(end)

    def _path(self, number: int, event: Event) -> tuple[Resource, ...]:
        """Return the links that a transfer crosses, and in which direction; nothing for others.

        A link that varies is another one for each transfer, with the rate that it had then.
        """
        way = DIRECTION_OF_PHASE.get(event.phase)
        link = self._links.of(event) if way is not None else None
        if link is None or way is None:
            return ()
        up = way == UP
        crossed = [
            (hop.link.name, UP if hop.leaves_host == up else DOWN) for hop in self._plan.path(link)
        ]
        shapes = self._links.shapes(link, event.start, event.end)
        if link.name in self._vary and shapes is not None:
            own = f"{link.name} {number}", way
            self._specs[own[0]] = link
            self._at_times[own] = shapes[0 if up else 1].rate or inf
            crossed[0] = own
        return tuple(crossed)

    def _bits(self, number: int) -> float:
        """Return what a transfer puts on a link, its frames' headers included."""
        return Transfer(self._size(self._events[number]), 1.0, 0.0, 0.0).ideal_seconds

    def _capacity(self, change: Change) -> dict[Resource, float]:
        """Return the rate of every link in bits per second, by name and direction."""
        found: dict[Resource, float] = {}
        for own, rate in self._at_times.items():
            here = self._specs[own[0]].place == change.place
            faster = change.rate_up if own[1] == UP else change.rate_down
            found[own] = rate * (faster if here else 1.0)
        for link in self._plan.links_and_trunks:
            here = link.place == change.place
            to_server, from_server = (UP, DOWN) if link.tier else (DOWN, UP)
            factors = {to_server: change.rate_up, from_server: change.rate_down}
            for way, shape in ((UP, link.up), (DOWN, link.down)):
                if shape is not None and shape.rate is not None:
                    found[link.name, way] = shape.rate * (factors[way] if here else 1.0)
        return found

    def _at_once(self, flows: Flows) -> dict[tuple[str, str], int]:
        """Return how many transfers a shared link limited at once at most, by place and way."""
        found: dict[tuple[str, str], int] = {}
        for (name, way), count in flows.most.items():
            link = self._specs[name]
            if link.shared is not None:
                key = link.shared, DOWN if way == UP else UP  # leaving a server is a way down
                found[key] = max(count, found.get(key, 0))
        return found


class _Run:
    """Phases that begin when those before them are over."""

    def __init__(
        self,
        events: Sequence[Event],
        waits: Sequence[tuple[list[int], float]],
        followers: dict[int, list[int]],
    ) -> None:
        self._waits, self._followers = waits, followers
        self._awaited = [len(before) for before, _ in waits]
        self._latest = [-inf] * len(events)
        self.ends = [0.0] * len(events)
        self.now = 0.0
        self._ready = [(event.start, i) for i, event in enumerate(events) if not self._awaited[i]]
        heapq.heapify(self._ready)

    def goes_on(self, flows: Flows) -> bool:
        """Whether anything is still to begin or to end."""
        return bool(self._ready) or flows.next_end() < inf

    def next_start(self, flows: Flows) -> int | None:
        """Go on to what comes next: the phase that begins then; None if a transfer ends."""
        first = self._ready[0][0] if self._ready else inf
        if first > self.now + GRAIN and flows.next_end() < first:
            self.now = max(self.now, flows.next_end())
            return None
        moment, number = heapq.heappop(self._ready)
        self.now = max(self.now, moment)
        return number

    def end(self, number: int, moment: float) -> None:
        """Note when a phase ended, and which others may begin then."""
        self.ends[number] = moment
        for follower in self._followers.get(number, ()):
            self._latest[follower] = max(self._latest[follower], moment)
            self._awaited[follower] -= 1
            if not self._awaited[follower]:
                begin = self._latest[follower] + self._waits[follower][1]
                heapq.heappush(self._ready, (begin, follower))
