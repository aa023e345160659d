"""Look up which link a transfer used, and how that link was shaped at the time."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace

from contracts.events import Phase
from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from reports.records.events import Event

UP, DOWN = "up", "down"
# A supply is sent ahead of the first model.
DIRECTION_OF_PHASE: dict[str, str] = {Phase.UPLOAD: UP, Phase.DOWNLOAD: DOWN, Phase.SUPPLY: DOWN}

_Shapes = tuple[Shape, Shape]


class UsedLinks:
    """Looks up a plan's links by the two nodes that communicate over them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._of_host: dict[str, list[LinkSpec]] = defaultdict(list)
        for link in plan.links:
            if link.tier is not None:
                self._of_host[link.host].append(link)
        self._between: dict[tuple[str, str | None], LinkSpec | None] = {}
        self._changes: dict[str, list[tuple[float, _Shapes]]] = defaultdict(list)
        for change in plan.timeline:
            if isinstance(change, LinkChangeEvent):
                for name in change.links:
                    self._changes[name].append((change.at, (change.up, change.down)))

    def link(self, node: str, peer: str | None) -> LinkSpec | None:
        """Return the link over which this node reaches that server."""
        key = node, peer
        if key not in self._between:
            self._between[key] = self._find(node, peer)
        return self._between[key]

    def of(self, event: Event) -> LinkSpec | None:
        """Return the link of a transfer; None for other events or if the plan has no such link."""
        return self.link(event.node, event.peer) if event.phase in DIRECTION_OF_PHASE else None

    def shapes(self, link: LinkSpec, moment: float, end: float) -> _Shapes | None:
        """Return the shapes up and down as the timeline had left them; None if nothing is shaped.

        For a trace these are the mean rates until `end`, and the delay of its first row.
        """
        changes = self._changes.get(link.name, [])
        place = bisect_right(changes, moment, key=lambda change: change[0])
        if place:
            return changes[place - 1][1]
        if link.up is None or link.down is None:
            return None
        return with_mean_rates(self._plan, link, moment, end)

    def _find(self, node: str, peer: str | None) -> LinkSpec | None:
        own = self._of_host.get(node, [])
        if len(own) == 1 or peer is None:
            return own[0] if own else None
        across = (link for link in own if self._reaches(link, peer))
        return next(across, None)

    def _reaches(self, link: LinkSpec, peer: str) -> bool:
        server = self._plan.server_across(link)
        return server is not None and server.name == peer


def with_mean_rates(plan: Plan, link: LinkSpec, start: float, end: float) -> _Shapes:
    """Return a link's shapes up and down with its trace's mean rates between two moments."""
    assert link.up is not None and link.down is not None
    trace = plan.trace(link)
    if trace is None:
        return link.up, link.down
    up, down = trace.mean_rates(start, end, link.trace_row)
    return replace(link.up, rate=up), replace(link.down, rate=down)
