"""How long clients train in a round, on each kind of device."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

from contracts.events import Phase
from contracts.plan import Plan
from reports.records.events import Event

ALL = ""  # the key of the mean over all clients, whatever their device


def local_training(events: Iterable[Event], plan: Plan) -> dict[str, float]:
    """The mean seconds of computing of a client in a round, over all and by device.

    A client that trains several times in a round (for two cells, or in an edge's rounds) takes
    their sum; one that does not train in a round does not count in it.
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
