"""Which nodes came last, how often, and how long the others waited for them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from contracts.events import Phase
from reports.bottleneck.critical_path import Step
from reports.records.events import Event


@dataclass
class Straggler:
    """One node among its server's children, over all rounds of that server."""

    node: str
    rounds: int = 0  # in which its update arrived
    last: int = 0  # of these, how often it was the last
    on_critical_path: int = 0  # of these, how often it set the global round's length
    others_waited_seconds: float = 0.0  # the others' mean wait for it, summed up
    server_waited_seconds: float = 0.0  # the server's wait since the last but one, summed up

    def row(self) -> dict[str, Any]:
        """Return the entry for summary.json."""
        return {k: round(v, 6) if type(v) is float else v for k, v in asdict(self).items()}


def stragglers(events: Iterable[Event], steps: Iterable[Step]) -> list[Straggler]:
    """Return all nodes that ever came last, those waited for longest first."""
    arrivals: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for event in events:
        if event.phase == Phase.UPLOAD and event.peer is not None and event.local_round is not None:
            arrivals[event.peer, event.local_round][event.node] = event.end
    found: dict[str, Straggler] = {}
    for ends in arrivals.values():
        _count(found, ends)
    for step in steps:
        if step.phase == Phase.UPLOAD and step.node in found:
            found[step.node].on_critical_path += 1
    late = [straggler for straggler in found.values() if straggler.last]
    return sorted(late, key=lambda s: (-s.others_waited_seconds, -s.last, s.node))


def _count(found: dict[str, Straggler], ends: dict[str, float]) -> None:
    for node in ends:
        found.setdefault(node, Straggler(node)).rounds += 1
    node = max(ends, key=lambda name: (ends[name], name))
    others = [end for name, end in ends.items() if name != node]
    if others:  # only the server waits for an only child
        straggler = found[node]
        straggler.last += 1
        straggler.others_waited_seconds += ends[node] - fmean(others)
        straggler.server_waited_seconds += ends[node] - max(others)
