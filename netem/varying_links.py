"""Links that follow traces: their queues are changed in place whenever a row of a trace is due."""

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

    def requests_to_change(self, up: Shape, down: Shape) -> Iterator[tuple[socket, bytes]]:
        """Yield the netlink requests that give the link these shapes, and the sockets to use."""


@dataclass
class TraceGroup:
    """Links with the same shapes that are at the same row of the same trace."""

    name: str
    trace: Trace
    links: list[str]
    shapes: list[tuple[Shape, Shape]]  # up and down, by row
    step: int  # the row they are at, counted on through the trace's repetitions
    first_step: int  # the row they had at time zero

    @property
    def next_change(self) -> float:
        """When the next row of the trace begins."""
        return self.trace.moment(self.step + 1, self.first_step)

    def advance(self, now: float) -> None:
        """Move on to the row of this moment; a late call skips the rows that are over."""
        self.step += 1
        while self.next_change <= now:
            self.step += 1

    @property
    def current_shapes(self) -> tuple[Shape, Shape]:
        """The shapes that the current row asks for."""
        return self.shapes[self.step % len(self.shapes)]


class VaryingLinks:
    """All links that follow a trace; the timeline calls `advance` whenever a change is due.

    Moments are seconds from time zero.
    """

    def __init__(self, plan: Plan, links: Mapping[str, Changeable]) -> None:
        self._links = links
        self._lateness = {name: Lateness(name) for name in plan.traces}
        self._groups = list(_trace_groups(plan))
        # Links are made with their trace's first values; at time zero each goes to its own row.
        self._queue = [(0.0, index) for index in range(len(self._groups))]

    @property
    def next_change(self) -> float | None:
        """When `advance` has to be called next; None when no link follows a trace."""
        return self._queue[0][0] if self._queue else None

    def advance(self, now: float) -> None:
        """Give every link the shapes of this moment."""
        batches: dict[socket, bytes] = defaultdict(bytes)
        while self._queue and self._queue[0][0] <= now:
            moment, index = heapq.heappop(self._queue)
            group = self._groups[index]
            group.advance(now)
            for link in group.links:
                for through, requests in self._links[link].requests_to_change(
                    *group.current_shapes
                ):
                    batches[through] += requests
            self._lateness[group.name].add(len(group.links), now - moment)
            if len(group.shapes) > 1:
                heapq.heappush(self._queue, (group.next_change, index))
        for through, batch in batches.items():
            netlink.send(through, batch, "change of links with a trace")

    def stop_following(self, links: Iterable[str]) -> None:
        """Stop following a trace on these links: an event of the timeline has changed them."""
        gone = set(links)
        for group in self._groups:
            group.links = [link for link in group.links if link not in gone]

    def report(self) -> list[dict[str, Any]]:
        """Return, for the records, how many changes each trace made and how late they were."""
        return [lateness.record() for lateness in self._lateness.values()]


@dataclass
class Lateness:
    """How late the changes of a trace were made; only a busy host makes them late."""

    trace: str
    moments: int = 0
    changes: int = 0
    seconds: float = 0.0
    most: float = 0.0

    def add(self, links: int, late: float) -> None:
        """Count a change of this many links that was made this late."""
        self.moments += 1
        self.changes += links
        self.seconds += late
        self.most = max(self.most, late)

    def record(self) -> dict[str, Any]:
        """Return the entry of the run's records."""
        return {
            "trace": self.trace,
            "changes": self.changes,
            "late_seconds_mean": round(self.seconds / self.moments, 9) if self.moments else 0.0,
            "late_seconds_most": round(self.most, 9),
        }


def _trace_groups(plan: Plan) -> Iterator[TraceGroup]:
    """Group the links that have the same trace, first row and shapes: they change together."""
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
        yield TraceGroup(link.trace, trace, names, shapes, link.trace_row - 1, link.trace_row)


def _shapes_at(link: LinkSpec, row: Row) -> tuple[Shape, Shape]:
    """Return the link's two shapes as this row of its trace has them."""
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
