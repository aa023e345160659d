"""What the links carried, set against the models that the nodes sent: links.csv read back."""

import csv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from contracts.plan import Plan
from reports.events import Event

# A server's cable to its own switch: what it carried was counted on its children's links already.
ATTACHMENT = "attachment"

_CARRIES = {"upload": "up", "download": "down", "supply": "down"}


@dataclass
class Traffic:
    """Totals of all finished rounds; bytes by (tier, direction); `wire` is without `background`."""

    last_round: int = 0
    wire: Counter[tuple[str, str]] = field(default_factory=Counter)
    payload: Counter[tuple[str, str]] = field(default_factory=Counter)
    background: Counter[tuple[str, str]] = field(default_factory=Counter)
    drops: int = 0

    @property
    def overhead(self) -> float | None:
        """Bytes on the links, acknowledgements included, over bytes of the models, minus one."""
        return _excess(self.wire.total(), self.payload.total())

    def overhead_by_tier(self) -> dict[str, dict[str, float | None]]:
        """The same for each tier and direction."""
        by_tier: dict[str, dict[str, float | None]] = {}
        for tier, way in sorted(self.wire):
            excess = _excess(self.wire[tier, way], self.payload[tier, way])
            by_tier.setdefault(tier, {})[way] = excess
        return by_tier


def read_traffic(links: Path, events: list[Event], plan: Plan | None) -> Traffic:
    """Round 0, the joining, is left out, and so is what a round that never ended had sent."""
    traffic = Traffic()
    _count_wire(traffic, links)
    tiers = {link.host: link.tier for link in plan.links if link.tier} if plan else {}
    for event in events:
        if event.phase in _CARRIES and event.round <= traffic.last_round:
            key = tiers.get(event.node, "unknown"), _CARRIES[event.phase]
            traffic.payload[key] += event.bytes
    return traffic


def _count_wire(traffic: Traffic, path: Path) -> None:
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                number = int(row["round"])
                carried = {way: int(row[f"bytes_{way}"]) for way in ("up", "down")}
                beside = {way: int(row.get(f"background_{way}") or 0) for way in carried}
                drops = int(row["drops_up"]) + int(row["drops_down"])
            except (KeyError, TypeError, ValueError):
                continue  # torn when the run was cut short
            if number < 1 or row["tier"] == ATTACHMENT:
                continue
            traffic.last_round = max(traffic.last_round, number)
            traffic.drops += drops
            for way, count in carried.items():
                traffic.wire[row["tier"], way] += count - beside[way]
                traffic.background[row["tier"], way] += beside[way]


def _excess(whole: int, part: int) -> float | None:
    return round(whole / part - 1, 6) if part else None
