"""Checks that the sections of a scenario are consistent with one another.

The schema checks each section by itself; what needs two of them (a method that needs a cloud and a
topology without one) is refused here.
"""

from collections import Counter
from typing import Any

from contracts.errors import BadInput
from contracts.links import LONGEST_INTERFACE_NAME
from netem import mobility
from protocols import registry
from scenarios import (
    availability,
    link_draws,
    link_shapes,
    packing,
    timeline,
    trace_files,
    traffic,
    transport,
    wiring,
)
from scenarios.events import Crash, Restart, ScheduledHandover
from scenarios.schema import Scenario
from scenarios.sections import Link, TierLink
from scenarios.server_data import SOURCE_DATASETS
from scenarios.suggestions import did_you_mean


def check_consistency(scenario: Scenario, settings: Any) -> None:
    """Raise BadInput if a section would be ignored, or needs something that another one lacks.

    `settings` are the method's own, as `loader.protocol_settings` returns them.
    """
    topology, task, name = scenario.topology, scenario.task, scenario.protocol.name
    on_cells, has_cloud = topology.kind == "cells", "cloud" in topology.roles
    method = registry.method(name)
    if method.needs_cloud is True and not has_cloud:
        raise BadInput(f"protocol.name: {name} needs a cloud; set topology.cloud = true")
    if method.needs_cloud is False and has_cloud:
        remedy = "take topology.cloud out" if on_cells else 'use topology.kind = "cells"'
        raise BadInput(f"protocol.name: {name} works without a cloud; {remedy}")
    if method.streams and on_cells:
        raise BadInput(
            f"protocol.name: {name} takes updates one by one, and in cells a client answers "
            'several servers at once; use topology.kind "star", "tree" or "graph"'
        )
    happens = scenario.timeline or scenario.availability
    if method.trains_alone and ("edge" in topology.roles or happens):
        raise BadInput(
            f"protocol.name: {name}'s clients use no network; take a star, and neither "
            "[[timeline]] nor [availability]"
        )
    layers = len(topology.roles)
    if getattr(settings, "edge_rounds", 1) > 1 and not (has_cloud and layers == 3):
        raise BadInput(
            f"protocol.edge_rounds: {name} holds that many rounds at edges below a cloud, and here "
            "are none; set it to 1, or use a tree"
        )
    if topology.kind == "graph":
        wiring.build_topology(scenario)  # refuses files, nodes and parents that are not there
    _check_star(scenario)
    _check_sampling(scenario, settings)
    _check_shared_devices(scenario)
    if task.partition == "main-classes" and not on_cells:
        raise BadInput('task.partition: main-classes are those of cells; use topology.kind "cells"')
    if task.rho != [1.0] and not on_cells:
        raise BadInput("task.rho: a share of a cell's main classes; leave it out without cells")
    nobody_above = not has_cloud or method.trains_alone
    if task.dissimilarity_every is not None and nobody_above:
        raise BadInput(
            "task.dissimilarity_every: taken at the cloud's model, and here is none; leave it out, "
            "or use a method and a topology with a cloud"
        )
    if scenario.stop == "target":
        _check_stop(scenario, nobody_above)
    _check_server_data(scenario)
    _check_mobility(scenario)
    _check_links(scenario)
    transport.check(scenario.transport, topology.tiers, topology.kind)
    packing.check(scenario.wire, topology.tiers, topology.kind, method.trains_alone)
    traffic.check(scenario)
    timeline.check(scenario)
    availability.check(scenario.availability, topology.client_names)
    _check_hosts(scenario)
    _check_interfaces(scenario)


def _check_links(scenario: Scenario) -> None:
    """Refuse a trace or a table that is not there or that cannot be read."""
    named: list[tuple[str, Link]] = []
    for tier, link in scenario.links.items():
        place = f"links.{tier}"
        named += [(place, link), *((f"{place}.mix", part) for part in link.mix or ())]
        if link.table is not None:
            link_draws.load_table(link.table, f"{place}.table")
        _check_shared_link(scenario, tier, link)
    named += [(f"hosts.{name}.link", h.link) for name, h in scenario.hosts.items() if h.link]
    for place, one in named:
        if one.trace is not None:
            trace_files.load(one.trace, f"{place}.trace")
            link_shapes.shapes(one)


def _check_shared_link(scenario: Scenario, name: str, link: TierLink) -> None:
    """Refuse a shared link that shapes nothing, or that changes with time."""
    if name not in scenario.topology.shared_links:
        return
    specs = wiring.link_specs(wiring.build_topology(scenario), scenario)
    if not any(spec.shared == f"links.{name}" for spec in specs):
        raise BadInput(
            f"links.{name}: no institution here has clients beside it, so that it shapes nothing; "
            "take it out, or set topology.clients_per_institution"
        )
    kinds = [link, *(link.mix or ())]
    if any(one.trace is not None for one in kinds):
        raise BadInput(
            f"links.{name}: what is shared does not follow a trace; give it a rate, and the trace "
            "to the hosts' own links"
        )
    if registry.method(scenario.protocol.name).trains_alone:
        raise BadInput(
            f"links.{name}: {scenario.protocol.name}'s clients use no network; take it out"
        )


def _check_hosts(scenario: Scenario) -> None:
    """Refuse hosts that are not there, and what cannot be theirs alone."""
    if not scenario.hosts:
        return
    topology = wiring.build_topology(scenario)
    roles = {name: topology.nodeInfo(name)["role"] for name in topology.hosts()}
    for name, host in scenario.hosts.items():
        if name not in roles:
            raise BadInput(f"hosts.{name}: there is no such host; {did_you_mean(name, roles)}")
        if host.link is not None and topology.nodeInfo(name)["parent"] is None:
            raise BadInput(
                f"hosts.{name}.link: {name} has no server above it; give the others their links"
            )
        if host.device is not None and host.device.measured:
            raise BadInput(
                f"hosts.{name}.device: this machine is measured for a whole role; "
                f"name it under [devices], or give numbers here"
            )
        if host.device is not None and host.device.shared_by > 1:
            raise BadInput(
                f"hosts.{name}.device.shared_by: a host's own device is its own; leave it out"
            )


def _check_stop(scenario: Scenario, nobody_above: bool) -> None:
    if scenario.task.target_accuracy is None:
        raise BadInput(
            'stop: "target" needs an accuracy to reach; set task.target_accuracy, like 0.8'
        )
    if nobody_above:
        raise BadInput(
            'stop: "target" is the accuracy of the cloud\'s model, and here is none; use '
            '"rounds", or a method and a topology with a cloud'
        )


def _check_star(scenario: Scenario) -> None:
    """Refuse methods that need a star, or data at the server, where the scenario has neither."""
    name = scenario.protocol.name
    method = registry.method(name)
    if method.star_only and "edge" in scenario.topology.roles:
        raise BadInput(
            f'protocol.name: {name} works between a cloud and its clients; use topology.kind "star"'
        )
    if method.needs_server_data and scenario.server_data is None:
        raise BadInput(
            f"server_data: missing; the server's own samples are what {name} works with "
            '(e.g. kind = "iid" and samples = 500)'
        )


def _check_sampling(scenario: Scenario, settings: Any) -> None:
    """Refuse to sample more clients in a round than a server has."""
    drawn, topology = getattr(settings, "clients_per_round", 0), scenario.topology
    if topology.kind == "cells" and registry.method(scenario.protocol.name).selects:
        raise BadInput(
            f"protocol.name: {scenario.protocol.name} selects who takes part, and in cells all"
            " clients do; use a star or a tree"
        )
    if not drawn:
        return
    if topology.kind == "cells":
        raise BadInput(
            "protocol.clients_per_round: in cells all clients take part; leave it out, or use a "
            "star or a tree"
        )
    there = _fewest_clients(scenario)
    if drawn > there:
        raise BadInput(
            f"protocol.clients_per_round: {drawn} cannot be drawn of {there} clients; "
            f"give at most {there}, or 0 for all"
        )


def _fewest_clients(scenario: Scenario) -> int:
    """Return how many clients the server with the fewest has."""
    topology = wiring.build_topology(scenario)
    parents = [topology.nodeInfo(name) for name in topology.hosts()]
    children = Counter(node["parent"] for node in parents if node["role"] == "client")
    return min(children.values())


def _check_shared_devices(scenario: Scenario) -> None:
    """Refuse to share a device among servers, or among clients that come and go."""
    for role, device in scenario.devices.items():
        if device.shared_by > 1 and role != "client":
            raise BadInput(
                f"devices.{role}.shared_by: only clients share devices; leave it out here"
            )
        come_and_go = any(
            isinstance(event, ScheduledHandover | Crash | Restart) for event in scenario.timeline
        )
        if device.shared_by > 1 and (scenario.mobility or scenario.availability or come_and_go):
            raise BadInput(
                "devices.client.shared_by: clients that move, come and go, crash or restart have "
                "devices of their own; leave it out"
            )


def _check_server_data(scenario: Scenario) -> None:
    """Refuse server data whose labels are those of another data set."""
    source = scenario.server_data.source if scenario.server_data else None
    if source is None:
        return
    dataset = SOURCE_DATASETS[source]
    if scenario.task.dataset != dataset:
        raise BadInput(
            f'server_data.source: "{source}" has samples of the classes of {dataset}, not '
            f'of {scenario.task.dataset}; use kind = "iid", or task.dataset = "{dataset}"'
        )


def _check_mobility(scenario: Scenario) -> None:
    """Moving clients need cells, and positions to start from that reach the cells they should."""
    moving, topology = scenario.mobility, scenario.topology
    if moving is None:
        return
    if topology.kind != "cells":
        raise BadInput('mobility: clients move between cells; use topology.kind = "cells"')
    for number, event in enumerate(scenario.timeline, 1):
        if isinstance(event, ScheduledHandover):
            raise BadInput(
                f"timeline.{number}: with [mobility] handovers come from where clients walk; "
                "take out this one, or [mobility]"
            )
    edges = mobility.centres(topology.cells or 0, moving.spacing)
    try:
        mobility.starting_points(topology.cells_by_client, edges, moving.radius, scenario.seed)
    except ValueError as error:
        raise BadInput(
            f"mobility: {error}; change mobility.radius or mobility.spacing, or the topology"
        ) from None


def _check_interfaces(scenario: Scenario) -> None:
    """Refuse a client with so many links that their interface names would be too long for Linux."""
    if scenario.topology.kind != "cells":
        return
    numbers = wiring.topology_numbers(scenario)
    for index, home in enumerate(numbers["homes"]):
        links = len(home) + len(numbers["visits"][index] if "visits" in numbers else ())
        if len(f"client{index + 1}-eth{links - 1}") > LONGEST_INTERFACE_NAME:
            raise BadInput(
                f"topology: client{index + 1} would have {links} links, more than Linux has names "
                "for; take fewer cells or fewer clients"
            )
