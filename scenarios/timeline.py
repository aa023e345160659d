"""Checks the events of a scenario's timeline and turns them into those of the plan."""

from collections.abc import Sequence
from typing import Any

from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.timeline import (
    CrashEvent,
    HandoverEvent,
    LinkChangeEvent,
    OutageEvent,
    RestartEvent,
    TimelineEvent,
    Walk,
)
from netem.shaping import needs_netem
from protocols import registry
from scenarios import link_shapes, wiring
from scenarios.events import Crash, Event, LinkChange, Outage, Restart, ScheduledHandover
from scenarios.quantities import seconds
from scenarios.schema import Scenario
from scenarios.suggestions import did_you_mean


def check(scenario: Scenario) -> None:
    """Raise BadInput for an event that names something unknown or cannot happen at its time."""
    events = [(f"timeline.{number}", event) for number, event in enumerate(scenario.timeline, 1)]
    for place, event in events:
        if isinstance(event, ScheduledHandover):
            _check_handover(scenario, event, place)
    links = wiring.link_specs(wiring.build_topology(scenario), scenario) if events else ()
    for place, event in events:
        if isinstance(event, LinkChange | Outage):
            _check_links(scenario, event, links, place)
        if isinstance(event, LinkChange):
            _check_structure(scenario, event, links, place)
    _check_crashes(scenario, [e for e in events if isinstance(e[1], Crash | Restart)])


def plan_events(scenario: Scenario, links: Sequence[LinkSpec]) -> tuple[TimelineEvent, ...]:
    """Return the plan's events in order of time, with link names and seconds."""
    found = (_planned(scenario, event, links) for event in scenario.timeline)
    return tuple(sorted(found, key=lambda event: event.at))


def plan_walk(scenario: Scenario) -> Walk | None:
    """Return how the clients walk, for `netem.mobility`; None if they do not move."""
    mobility = scenario.mobility
    if mobility is None:
        return None
    return Walk(
        mode=mobility.mode,
        interruption=seconds(mobility.interruption),
        hold=seconds(mobility.hold),
        speed=mobility.speed,
        dwell=seconds(mobility.dwell),
        spacing=mobility.spacing,
        radius=mobility.radius,
        seed=scenario.seed,
        hears_all=registry.method(scenario.protocol.name).hears_all_cells,
        homes=tuple(scenario.topology.cells_by_client),
    )


def _planned(scenario: Scenario, event: Event, links: Sequence[LinkSpec]) -> TimelineEvent:
    at = seconds(event.at)
    match event:
        case ScheduledHandover():
            return HandoverEvent(
                at=at,
                client=event.client,
                to=tuple(f"edge{cell}" for cell in wiring.joined_cells(scenario, event.to)),
                mode=event.mode,
                interruption=seconds(event.interruption),
                hold=seconds(event.hold),
            )
        case LinkChange():
            up, down = link_shapes.shapes(event)
            names = _affected_links(event, links)
            return LinkChangeEvent(at=at, links=names, up=up, down=down, profile=event.profile)
        case Outage():
            what, until = event.link or f"cell{event.cell}", seconds(event.until)
            return OutageEvent(at=at, until=until, links=_affected_links(event, links), what=what)
        case Crash():
            return CrashEvent(at=at, node=event.node)
        case Restart():
            return RestartEvent(at=at, node=event.node)


def _affected_links(event: LinkChange | Outage, links: Sequence[LinkSpec]) -> tuple[str, ...]:
    """Return the names of the links that the event changes.

    Links without a tier only attach a server to its switch and are never changed.
    """
    shaped = [link for link in links if link.tier is not None]
    if event.link is not None:
        return tuple(link.name for link in shaped if link.name == event.link)
    if isinstance(event, LinkChange):
        return tuple(link.name for link in shaped if link.tier == event.tier)
    return tuple(link.name for link in shaped if link.switch == f"cell{event.cell}")


def _check_handover(scenario: Scenario, event: ScheduledHandover, place: str) -> None:
    topology = scenario.topology
    if topology.kind != "cells":
        raise BadInput(f'{place}.event: a handover needs cells; use topology.kind = "cells"')
    if event.client not in topology.client_names:
        raise BadInput(f'{place}.client: there is no "{event.client}"; {_known_clients(scenario)}')
    if max(event.to) > (topology.cells or 0) or len(set(event.to)) < len(event.to):
        raise BadInput(
            f"{place}.to: {event.to} are not different cells of {topology.cells}; "
            f"give numbers from 1 to {topology.cells}, each once"
        )


def _check_links(
    scenario: Scenario, event: LinkChange | Outage, links: Sequence[LinkSpec], place: str
) -> None:
    kind = scenario.topology.kind
    if isinstance(event, Outage) and event.cell is not None:
        cells = scenario.topology.cells
        if cells is None:
            raise BadInput(f"{place}.cell: a {kind} has no cells; name a link instead")
        if event.cell > cells:
            raise BadInput(f"{place}.cell: there is no cell {event.cell}; give 1 to {cells}")
    if isinstance(event, LinkChange) and event.tier is not None:
        tiers = scenario.topology.tiers
        if event.tier not in tiers:
            raise BadInput(f"{place}.tier: a {kind} has no such part; it has {', '.join(tiers)}")
    if event.link is not None and not _affected_links(event, links):
        shared = (*links, *wiring.trunk_specs(scenario.topology))
        if event.link in {link.name for link in shared}:
            raise BadInput(
                f"{place}.link: {event.link} is not one host's own, and stays as it is; name the "
                "link of a host to its server"
            )
        known = [link for link in links if link.tier is not None]
        own = [link.name for link in known if link.host == event.link.partition("-")[0]]
        remedy = did_you_mean(event.link, own) if own else f'write it like "{known[0].name}"'
        raise BadInput(f'{place}.link: there is no link "{event.link}"; {remedy}')


def _check_structure(
    scenario: Scenario, event: LinkChange, links: Sequence[LinkSpec], place: str
) -> None:
    """Refuse a change that would add or remove a queue: the kernel only changes them in place."""
    affected = set(_affected_links(event, links))
    pairs = [
        (link.tier, old, new)
        for link in links
        if link.name in affected
        for old, new in zip((link.up, link.down), link_shapes.shapes(event), strict=True)
        if old is not None
    ]
    for tier, old, new in pairs:
        if (old.rate is None) != (new.rate is None):
            what, some = "a rate", "a rate"
        elif needs_netem(old) != needs_netem(new):
            what, some = "a delay, jitter or loss", "a delay"
        elif old.queueing != new.queueing:
            what, some = f'queueing "{new.queueing}"', "the same queueing"
        else:
            continue
        raise BadInput(
            f"{place}: a link changes in place, so it has {what} before and after, or never; "
            f"give both links.{tier} and this event {some}"
        )


def _check_crashes(scenario: Scenario, events: list[tuple[str, Any]]) -> None:
    if not events:
        return
    topology = wiring.build_topology(scenario)
    above = {name: topology.nodeInfo(name)["parent"] for name in topology.hosts(sort=False)}
    servers = [name for name in above if name not in scenario.topology.client_names]
    down: dict[str, float] = {}
    for place, event in sorted(events, key=lambda found: seconds(found[1].at)):
        if event.node not in above:
            raise BadInput(
                f'{place}.node: there is no "{event.node}"; {_known_clients(scenario)}, '
                f"and servers are {', '.join(servers[:5])}"
            )
        if isinstance(event, Crash):
            if event.node in down:
                raise BadInput(f"{place}: {event.node} is down already; restart it before")
            down[event.node] = seconds(event.at)
        elif seconds(event.at) <= down.pop(event.node, float("inf")):
            raise BadInput(f"{place}: {event.node} is not down at that time; let it crash before")
    for place, event in events:
        if isinstance(event, Crash) and event.node in down and above[event.node] is None:
            raise BadInput(f"{place}: {event.node} would never end its rounds; add its restart")


def _known_clients(scenario: Scenario) -> str:
    return f"the clients are client1 to client{scenario.topology.client_count}"
