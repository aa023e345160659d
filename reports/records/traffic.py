"""Totals of links.csv, compared with the sizes of the models that the nodes sent."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from contracts.events import Phase
from contracts.plan import Plan
from contracts.tables import LINK_COLUMNS, LinkRow
from reports.records.events import Event
from reports.records.record_files import growing_table

_CARRIES: dict[str, str] = {Phase.UPLOAD: "up", Phase.DOWNLOAD: "down", Phase.SUPPLY: "down"}


@dataclass
class Traffic:
    """Bytes of all finished rounds by (tier, direction); `wire` excludes `background`."""

    last_round: int = 0
    wire: Counter[tuple[str, str]] = field(default_factory=Counter)
    payload: Counter[tuple[str, str]] = field(default_factory=Counter)
    background: Counter[tuple[str, str]] = field(default_factory=Counter)
    drops: int = 0

    @property
    def overhead(self) -> float | None:
        """Bytes on the links, including acknowledgements, over bytes of the models, minus one."""
        return _excess(self.wire.total(), self.payload.total())

    def overhead_by_tier(self) -> dict[str, dict[str, float | None]]:
        """Return the overhead of each tier and direction."""
        by_tier: dict[str, dict[str, float | None]] = {}
        for tier, way in sorted(self.wire):
            excess = _excess(self.wire[tier, way], self.payload[tier, way])
            by_tier.setdefault(tier, {})[way] = excess
        return by_tier


@dataclass
class LinkTotals:
    """Totals of one link over all finished rounds: training, background and drops."""

    up: int = 0
    down: int = 0
    drops_up: int = 0
    drops_down: int = 0
    background_up: int = 0
    background_down: int = 0


def read_links(path: Path) -> list[LinkRow]:
    """Return every readable row of links.csv."""
    return growing_table(path, LINK_COLUMNS, LinkRow.of)


def traffic(links: Iterable[LinkRow], events: Iterable[Event], plan: Plan | None) -> Traffic:
    """Sum up all finished rounds.

    Round 0, in which nodes join, and the traffic of a round that never ended do not count.
    """
    found = Traffic()
    for row in links:
        if row.round > 0:  # a packet is dropped once, also by what many share
            found.drops += row.drops_up + row.drops_down
        if not row.counts:
            continue
        found.last_round = max(found.last_round, row.round)
        found.wire[row.tier, "up"] += row.training_up
        found.wire[row.tier, "down"] += row.training_down
        found.background[row.tier, "up"] += row.background_up
        found.background[row.tier, "down"] += row.background_down
    tiers = {link.host: link.tier for link in plan.links if link.tier} if plan else {}
    further = _further_tiers(plan) if plan and plan.trunks else {}
    for event in events:
        if event.phase in _CARRIES and event.round <= found.last_round:
            way = _CARRIES[event.phase]
            found.payload[tiers.get(event.node, "unknown"), way] += event.bytes
            for tier in further.get((event.node, event.peer), ()):
                found.payload[tier, "down" if way == "up" else "up"] += event.bytes
    return found


def _further_tiers(plan: Plan) -> dict[tuple[str, str | None], list[str]]:
    """Return the tiers of servers' own links that a node's transfers cross in a graph."""
    found: dict[tuple[str, str | None], list[str]] = {}
    for link in plan.links:
        server = plan.server_across(link) if link.tier else None
        if server is not None:
            last = plan.path(link)[-1].link
            found[link.host, server.name] = [last.tier] if last.tier else []
    return found


def link_totals(links: Iterable[LinkRow]) -> dict[str, LinkTotals]:
    """Return totals by link, leaving out servers' cables to their own switches, and trunks."""
    return _totals(row for row in links if row.counts)


def shared_totals(links: Iterable[LinkRow]) -> dict[str, LinkTotals]:
    """Return totals of the others: what crosses them is counted elsewhere too."""
    return _totals(row for row in links if row.round > 0 and not row.counts)


def _totals(links: Iterable[LinkRow]) -> dict[str, LinkTotals]:
    totals: dict[str, LinkTotals] = defaultdict(LinkTotals)
    for row in links:
        own = totals[row.link]
        own.up += row.training_up
        own.down += row.training_down
        own.drops_up += row.drops_up
        own.drops_down += row.drops_down
        own.background_up += row.background_up
        own.background_down += row.background_down
    return dict(totals)


def bytes_by_round(links: Iterable[LinkRow]) -> Mapping[int, int]:
    """Return the training bytes on all links from the first round to the end of each round."""
    each: Counter[int] = Counter({0: 0})
    for row in links:
        if row.counts:
            each[row.round] += row.training_up + row.training_down
    rounds = sorted(each)
    return dict(zip(rounds, accumulate(each[number] for number in rounds), strict=True))


def _excess(whole: int, part: int) -> float | None:
    return round(whole / part - 1, 6) if part else None
