"""Transfers as flows of a liquid: how long each takes where several meet, and what limits it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from reports.bottleneck.fair_shares import Resource, fair_shares

_AT_ONCE = 1e-3  # of a flow's time: flows that end this near to each other end together
GRAIN = 1e-4  # seconds: for so long, rates need not be worked out anew


@dataclass
class Flow:
    """A transfer under way: what is left of it, and how long each link has limited it."""

    path: tuple[Resource, ...]
    left: float  # bits
    began: float
    rate: float = 0.0
    limit: Resource | None = None
    limited: dict[Resource | None, float] = field(default_factory=lambda: defaultdict(float))


class Flows:
    """All transfers under way; time goes on when the caller says so."""

    def __init__(self, capacity: Mapping[Resource, float]) -> None:
        self._capacity = capacity
        self._flows: dict[int, Flow] = {}
        self._now = 0.0
        self._stale = False
        self.most: dict[Resource, int] = defaultdict(int)  # at once, of those that it limited

    def begin(self, number: int, path: tuple[Resource, ...], bits: float, now: float) -> None:
        """Let a transfer begin; `now` is not before the moment of any earlier call."""
        self._go_on(now)
        self._flows[number] = Flow(path, bits, now)
        self._stale = True

    def next_end(self) -> float:
        """Return when the next transfer ends if none begins before; infinity if there is none."""
        self._share()
        ends = (_end(flow, self._now) for flow in self._flows.values())
        return min(ends, default=inf)

    def ended(self, now: float) -> dict[int, Flow]:
        """Go on to this moment, and return the transfers that are over by then."""
        self._share()
        self._go_on(now)
        over = {
            number: flow
            for number, flow in self._flows.items()
            if _end(flow, now) <= now + _AT_ONCE * (now - flow.began)
        }
        for number in over:
            del self._flows[number]
        self._stale = self._stale or bool(over)
        return over

    def _go_on(self, now: float) -> None:
        seconds = now - self._now
        if seconds > GRAIN:
            self._share()
        if seconds > 0:
            for flow in self._flows.values():
                flow.left -= min(flow.left, flow.rate * seconds)
                flow.limited[flow.limit] += seconds
            self._now = now

    def _share(self) -> None:
        if not self._stale:
            return
        self._stale = False
        shares = fair_shares([flow.path for flow in self._flows.values()], self._capacity)
        together: dict[Resource, int] = defaultdict(int)
        for flow, share in zip(self._flows.values(), shares, strict=True):
            flow.rate, flow.limit = share
            if flow.limit is not None:
                together[flow.limit] += 1
        for resource, count in together.items():
            self.most[resource] = max(self.most[resource], count)


def _end(flow: Flow, now: float) -> float:
    return now if flow.left <= 0 or flow.rate == inf else now + flow.left / flow.rate
