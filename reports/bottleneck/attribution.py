"""Divide a run's elapsed time, along its critical paths, by phase, tier, link and node."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from contracts.events import Phase
from contracts.links import LinkSpec
from contracts.plan import Plan
from reports.bottleneck.critical_path import Step
from reports.bottleneck.shared_replay import DISTANCE, SharedReplay
from reports.bottleneck.used_links import DIRECTION_OF_PHASE, UsedLinks
from reports.records.events import Event

WAIT = Phase.WAIT
BOTH_DIRECTIONS = "links"  # in place of a phase: both directions of a tier together
_ONE_SIDED = 2 / 3  # with this share of a tier's time in one direction, the other does not matter

Seconds = dict[str, float]


@dataclass
class Part:
    """The time of one kind of step at one place: a tier's links, or the devices of a role."""

    place: str
    phase: str  # of a transfer: up or down
    seconds: float = 0.0
    by_node: Seconds = field(default_factory=lambda: defaultdict(float))


@dataclass
class Attribution:
    """The seconds of all finished rounds; each second is counted once in every table."""

    seconds: float = 0.0
    by_phase: Seconds = field(default_factory=lambda: defaultdict(float))
    by_tier: Seconds = field(default_factory=lambda: defaultdict(float))
    by_link: dict[str, Seconds] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(float))
    )
    by_node: Seconds = field(default_factory=lambda: defaultdict(float))
    parts: dict[tuple[str, str], Part] = field(default_factory=dict)

    def tables(self) -> dict[str, Any]:
        """Return the tables of summary.json: shares of the elapsed time, largest first."""
        by_link = {name: self.shares(ways) for name, ways in self.by_link.items()}
        by_part = {f"{part.place} {part.phase}": part.seconds for part in self.parts.values()}
        largest = sorted(by_link, key=lambda name: -sum(by_link[name].values()))
        return {
            "by_phase": self.shares(self.by_phase),
            "by_tier": self.shares(self.by_tier),
            "by_part": self.shares(by_part),
            "by_link": {name: by_link[name] for name in largest},
            "by_node": self.shares(self.by_node),
        }

    def shares(self, seconds: Seconds) -> dict[str, float]:
        """Convert seconds to shares of the elapsed time, largest first."""
        largest = sorted(seconds, key=lambda key: -seconds[key])
        return {key: round(seconds[key] / self.seconds, 4) for key in largest}


def attribute_time(
    steps: Iterable[Step], plan: Plan, sharing: SharedReplay | None = None
) -> Attribution:
    """Assign transfers to their link and its tier, and all other steps to the node and its role.

    While a shared link limited a transfer, its time is that link's.
    """
    links = UsedLinks(plan)
    roles = {node.name: node.role for node in plan.nodes}
    found = Attribution()
    for step in steps:
        seconds, place, phase = step.end - step.start, roles.get(step.node, "unknown"), step.phase
        found.seconds += seconds
        found.by_phase[step.phase] += seconds
        found.by_node[step.node] += seconds
        link = links.link(step.node, step.peer) if step.phase in DIRECTION_OF_PHASE else None
        if link is not None and link.tier is not None:
            place, phase = link.tier, DIRECTION_OF_PHASE[step.phase]
            for limit, way, share in sharing.limits(step) if sharing else ():
                booked = share * (step.end - step.start)
                _book(found, limit.place or place, way, step.node, booked, limit)
                seconds -= booked
            if plan.trunks:  # the rest is delay, of many links
                place, link = DISTANCE, None
        _book(found, place, phase, step.node, seconds, link)
    return found


def _book(
    found: Attribution, place: str, phase: str, node: str, seconds: float, link: LinkSpec | None
) -> None:
    """Add some seconds of a node to a place, and to the link that they were spent on."""
    if link is not None and link.place is not None:
        found.by_link[link.name][phase] += seconds
    found.by_tier[place] += seconds
    part = found.parts.setdefault((place, phase), Part(place, phase))
    part.seconds += seconds
    part.by_node[node] += seconds


def mean_seconds_by_node(
    events: Iterable[Event], plan: Plan
) -> dict[tuple[str, str], dict[str, float]]:
    """Return how long each node took on average for each part, on the critical path or not."""
    links, roles = UsedLinks(plan), {node.name: node.role for node in plan.nodes}
    taken: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        link = links.of(event)
        place = link.tier if link else roles.get(event.node)
        if place is not None:
            taken[place, DIRECTION_OF_PHASE.get(event.phase, event.phase)][event.node].append(
                event.seconds
            )
    return {
        key: {node: fmean(seconds) for node, seconds in nodes.items()}
        for key, nodes in taken.items()
    }


def is_transfer(part: Part) -> bool:
    """Whether this part is time on a link."""
    return part.phase in DIRECTION_OF_PHASE.values()


def phase_or_both_directions(phase: str, time: float, of_place: float) -> str:
    """Treat a tier's directions as one part unless one of them takes nearly all its time."""
    return (
        BOTH_DIRECTIONS
        if phase in DIRECTION_OF_PHASE.values() and time < _ONE_SIDED * of_place
        else phase
    )
