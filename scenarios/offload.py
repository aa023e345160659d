"""Which links carry packets of many frames: fast ones, where that changes no time that matters."""

from dataclasses import replace

from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from netem.offload import frames, small_enough
from scenarios.packing import smallest_message
from scenarios.schema import Scenario

BothWays = tuple[int, int]  # of a packet to the servers of a network, and of one from them


def applied(plan: Plan, scenario: Scenario) -> Plan:
    """Return the plan with as many frames a packet as each of its networks can bear.

    TCP makes packets of the size that the sender's own interface allows, and they stay as they are
    on their whole way: so one number is for all that crosses a network towards its servers, and one
    for all that comes from them. Only the virtual clock's kernel counts the frames of a packet.
    """
    by_network: dict[str, BothWays] = {}
    if plan.clock == "virtual" and scenario.transport.offload:
        for link in plan.links:
            if plan.server_across(link) is not None:
                found = _both_ways(plan, link)
                to_server, from_server = by_network.get(link.network_name, found)
                both = min(to_server, found[0]), min(from_server, found[1])
                by_network[link.network_name] = both

    def changed(link: LinkSpec) -> LinkSpec:
        to_server, from_server = by_network.get(link.network_name, (1, 1))
        if plan.server_across(link) is None:  # a server's own link to its network
            to_server, from_server = from_server, to_server
        return replace(link, frames_up=to_server, frames_down=from_server)

    return replace(plan, links=tuple(map(changed, plan.links)))


def _both_ways(plan: Plan, link: LinkSpec) -> BothWays:
    """Return what a link bears. One frame where several share the way behind it.

    There the queue fills, and which frame is lost decides how long a transfer takes.
    """
    behind = plan.path(link)[1:]
    if not link.offload or any(hop.to_server or hop.from_server for hop in behind):
        return 1, 1
    changes = [
        event
        for event in plan.timeline
        if isinstance(event, LinkChangeEvent) and link.name in event.links
    ]
    size = smallest_message(plan, link.tier)
    up = _fewest([link.up, *(change.up for change in changes)], size)
    return up, _fewest([link.down, *(change.down for change in changes)], size)


def _fewest(shapes: list[Shape | None], size: int) -> int:
    """Return the most frames of a packet that all of these shapes bear."""
    fastest = max((shape.rate or 0.0 for shape in shapes if shape), default=0.0)
    return min(map(frames, shapes)) if fastest and small_enough(size, fastest) else 1
