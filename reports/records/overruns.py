"""Find where computing on the host took longer than the emulated device would have."""

from collections import defaultdict
from dataclasses import dataclass

from contracts.events import Phase
from reports.records.events import Event

# Every sleep ends a little late; only a larger share of a node's computing is worth reporting.
NOTICEABLE = 0.01


@dataclass(frozen=True)
class Overruns:
    """The nodes that overran noticeably, and the sum over all nodes with its share of computing."""

    nodes: int
    seconds: float
    share: float | None
    by_node: dict[str, float]  # seconds of those that overran noticeably


def overruns(events: list[Event]) -> Overruns:
    """Sum up the overruns of the compute phases of all nodes."""
    late: dict[str, float] = defaultdict(float)
    computing: dict[str, float] = defaultdict(float)
    for event in events:
        if event.phase == Phase.COMPUTE:
            late[event.node] += event.fields.get("overrun") or 0.0
            computing[event.node] += event.seconds
    total, whole = sum(late.values()), sum(computing.values())
    noticeable = sorted(node for node in late if late[node] > NOTICEABLE * computing[node])
    return Overruns(
        nodes=len(noticeable),
        seconds=round(total, 6),
        share=round(total / whole, 6) if whole else None,
        by_node={node: round(late[node], 6) for node in noticeable},
    )
