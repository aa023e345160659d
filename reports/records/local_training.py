"""How long clients train in a round, for each kind of device."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

from contracts.events import Phase
from contracts.plan import Plan
from reports.records.events import Event

ALL = ""  # the key of the mean over all clients, whatever their device


def local_training(events: Iterable[Event], plan: Plan) -> dict[str, float]:
    """Return a client's mean computing seconds in a round, over all clients and by device.

    If a client trains several times in a round (for two cells, or in several rounds of its edge
    server), their sum counts. Rounds in which a client does not train do not count for it.
    """
    spent: dict[tuple[str, int], float] = defaultdict(float)
    for event in events:
        if event.phase == Phase.COMPUTE and plan.node(event.node).role == "client":
            spent[event.node, event.round] += event.seconds
    by_device: dict[str, list[float]] = defaultdict(list)
    for (node, _), seconds in spent.items():
        by_device[ALL].append(seconds)
        by_device[plan.node(node).device].append(seconds)
    return {device: round(fmean(found), 6) for device, found in sorted(by_device.items())}
