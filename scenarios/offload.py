"""Which links carry packets of many frames: fast ones, where that changes no time that matters."""

from collections.abc import Iterator
from dataclasses import replace

from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from netem.offload import frames
from scenarios.schema import Scenario


def applied(plan: Plan, scenario: Scenario) -> Plan:
    """Return the plan with as many frames a packet as each of its networks can bear.

    TCP makes packets of the size that the sender's own interface allows, and they stay as they are
    on their whole way: so one number is for all that crosses a network towards its servers, and one
    for all that comes from them. Only the virtual clock's kernel counts the frames of a packet.
    """
    if plan.clock != "virtual" or not scenario.transport.offload:
        return _changed(plan, {})
    size = min(plan.model_bytes, plan.update_bytes)
    return _changed(plan, {name: _both_ways(plan, name, size) for name in _networks(plan)})


def _networks(plan: Plan) -> set[str]:
    return {link.network_name for link in plan.links}


def _both_ways(plan: Plan, network: str, size: int) -> tuple[int, int]:
    """Return the most frames of a packet to the servers of a network, and of one from them."""
    found = [
        (towards, min(limit, frames(shape, size)))
        for link in plan.links_and_trunks
        if link.network_name == network or link.is_trunk
        for towards, limit, shape in _directions(plan, link)
    ]
    if plan.trunks:  # in a graph a server has one link for those above it and those below
        fewest = min(number for _, number in found)
        return fewest, fewest
    both = (min(number for towards, number in found if towards is way) for way in (True, False))
    to_server, from_server = both
    return to_server, from_server


def _directions(plan: Plan, link: LinkSpec) -> Iterator[tuple[bool, int, Shape | None]]:
    """Yield each shape that a link ever has: whether towards a server, its own limit, the shape."""
    changes = [
        event
        for event in plan.timeline
        if isinstance(event, LinkChangeEvent) and link.name in event.links
    ]
    up_is_towards = not _is_attachment(link)
    for up, down in [(link.up, link.down), *((event.up, event.down) for event in changes)]:
        yield up_is_towards, link.frames_up, up
        yield not up_is_towards, link.frames_down, down


def _is_attachment(link: LinkSpec) -> bool:
    """Whether it is a server's own link to its network."""
    return link.tier is None and not link.is_trunk


def _changed(plan: Plan, by_network: dict[str, tuple[int, int]]) -> Plan:
    def changed(link: LinkSpec) -> LinkSpec:
        up, down = by_network.get(link.network_name, (1, 1))
        if _is_attachment(link):
            up, down = down, up
        return replace(link, frames_up=up, frames_down=down)

    def widest(trunk: LinkSpec) -> LinkSpec:
        most = max((max(both) for both in by_network.values()), default=1)
        return replace(trunk, frames_up=most, frames_down=most)

    return replace(
        plan,
        links=tuple(map(changed, plan.links)),
        trunks=tuple(map(widest, plan.trunks)),
    )
