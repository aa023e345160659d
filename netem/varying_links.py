"""Links that follow traces: their queues are changed in place whenever a row is due."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from socket import socket
from typing import Any, Protocol

from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from contracts.traces import Row, Trace
from netem import netlink


class Changeable(Protocol):
    """A link whose queues can be changed in place."""

    def change_part(self, up: Shape, down: Shape) -> Iterator[tuple[socket, bytes]]:
        """The netlink requests that give the link these shapes, and their sockets."""


@dataclass
class Followers:
    """Links of one kind that are at the same place of their trace."""

    name: str
    trace: Trace
    links: list[str]
    shapes: list[tuple[Shape, Shape]]  # by row
    step: int  # the row they have, counted on over all repetitions
    begun_at: int

    @property
    def due(self) -> float:
        """When the next row of the trace begins."""
        return self.trace.moment(self.step + 1, self.begun_at)

    def move(self, now: float) -> None:
        """To the row of this moment; a late call skips those that are over."""
        self.step += 1
        while self.due <= now:
            self.step += 1

    @property
    def wanted(self) -> tuple[Shape, Shape]:
        """The shapes that the current row asks for."""
        return self.shapes[self.step % len(self.shapes)]


class Varying:
    """All links with a trace; moments are seconds from time zero."""

    def __init__(self, plan: Plan, links: Mapping[str, Changeable]) -> None:
        self._links = links
        self._seen = {name: Lateness(name) for name in plan.traces}
        self._all = list(_followers(plan))
        # At time zero every link goes from its trace's first values to its own place in it.
        self._queue = [(0.0, place) for place in range(len(self._all))]

    @property
    def due(self) -> float | None:
        """When something is to be done next."""
        return self._queue[0][0] if self._queue else None

    def advance(self, now: float) -> None:
        """Give every link the row of this moment."""
        batches: dict[socket, bytes] = defaultdict(bytes)
        while self._queue and self._queue[0][0] <= now:
            moment, place = heapq.heappop(self._queue)
            group = self._all[place]
            group.move(now)
            for link in group.links:
                for through, requests in self._links[link].change_part(*group.wanted):
                    batches[through] += requests
            self._seen[group.name].add(len(group.links), now - moment)
            if len(group.shapes) > 1:
                heapq.heappush(self._queue, (group.due, place))
        for through, batch in batches.items():
            netlink.send(through, batch, "change of links with a trace")

    def leave(self, links: Iterable[str]) -> None:
        """These links follow no trace any more: the timeline has other plans for them."""
        gone = set(links)
        for group in self._all:
            group.links = [link for link in group.links if link not in gone]

    def report(self) -> list[dict[str, Any]]:
        """What was done, for the records."""
        return [seen.row() for seen in self._seen.values()]


@dataclass
class Lateness:
    """How late the changes of a trace were made: nothing but the host's doing."""

    trace: str
    moments: int = 0
    changes: int = 0
    seconds: float = 0.0
    most: float = 0.0

    def add(self, links: int, late: float) -> None:
        """Count a change of so many links that was made so late."""
        self.moments += 1
        self.changes += links
        self.seconds += late
        self.most = max(self.most, late)

    def row(self) -> dict[str, Any]:
        """As an entry of the run's records."""
        return {
            "trace": self.trace,
            "changes": self.changes,
            "late_seconds_mean": round(self.seconds / self.moments, 9) if self.moments else 0.0,
            "late_seconds_most": round(self.most, 9),
        }


def _followers(plan: Plan) -> Iterator[Followers]:
    """Links that have the same trace, start in it and shapes are changed together."""
    alike: dict[tuple[Any, ...], list[LinkSpec]] = defaultdict(list)
    for link in plan.links:
        if link.trace is not None:
            alike[link.trace, link.trace_row, link.up, link.down].append(link)
    for group in alike.values():
        link = group[0]
        trace = plan.trace(link)
        assert trace is not None and link.trace is not None
        shapes = [_shapes_at(link, row) for row in trace.rows]
        names = [link.name for link in group]
        yield Followers(link.trace, trace, names, shapes, link.trace_row - 1, link.trace_row)


def _shapes_at(link: LinkSpec, row: Row) -> tuple[Shape, Shape]:
    """The link's two directions as that row of its trace has them."""
    assert link.up is not None and link.down is not None
    up, down = (
        replace(
            shape,
            rate=rate,
            delay=shape.delay if row.delay is None else row.delay,
            loss=shape.loss if row.loss is None else row.loss,
        )
        for shape, rate in ((link.up, row.rate_up), (link.down, row.rate_down))
    )
    return up, down
