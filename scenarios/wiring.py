"""Builds a scenario's Mininet topology and works out the shape of each of its links."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contracts.links import LinkSpec
from contracts.traces import Trace
from netem import topologies
from netem.shaping import SHARED_QUEUE
from protocols import registry
from scenarios import graph_hosts, link_draws, trace_files
from scenarios.events import ScheduledHandover
from scenarios.link_shapes import shapes
from scenarios.schema import Scenario, Topology
from scenarios.sections import Link, Shared, Tier

GRAPH_NETWORK = "wan"  # all hosts at the routers of a graph have addresses in this network


def traces(scenario: Scenario) -> dict[str, Trace]:
    """Return every trace that a link follows, by the name or file that the link gives."""
    links: list[Link] = [*scenario.links.values()]
    links += [part for link in scenario.links.values() for part in link.mix or ()]
    links += [host.link for host in scenario.hosts.values() if host.link is not None]
    names = {link.trace for link in links if link.trace is not None}
    return {name: trace_files.load(name) for name in sorted(names)}


def _first_row(link: Link, name: str, seed: int) -> int:
    """Return the row of its trace at which a link starts."""
    if link.trace is None or link.trace_offset == "none":
        return 0
    rows = len(trace_files.load(link.trace).rows)
    return random.Random(f"{seed}/trace/{name}").randrange(rows)


def joined_cells(scenario: Scenario, heard: Sequence[int]) -> list[int]:
    """Return those of the cells in reach that a client joins under the scenario's method.

    That is all of them, or only the first if the method's clients belong to one cell.
    """
    return list(heard if registry.method(scenario.protocol.name).hears_all_cells else heard[:1])


def later_cells(scenario: Scenario) -> list[list[int]]:
    """Return, for every client, the cells (from 0) that it may join during the run.

    The cells that it belongs to from the beginning are left out.
    """
    topology = scenario.topology
    if topology.kind != "cells":
        return [[] for _ in range(topology.client_count)]
    every = range(topology.cells or 0) if scenario.mobility else ()
    reached = {f"client{number}": set(every) for number in range(1, topology.client_count + 1)}
    for event in scenario.timeline:
        if isinstance(event, ScheduledHandover):
            reached[event.client].update(joined_cells(scenario, [cell - 1 for cell in event.to]))
    return [
        sorted(cells.difference(joined_cells(scenario, home)))
        for cells, home in zip(reached.values(), topology.cells_by_client, strict=True)
    ]


def topology_numbers(scenario: Scenario) -> dict[str, Any]:
    """Return the arguments of the scenario's Mininet topology, as plan.json keeps them."""
    topology = scenario.topology
    if topology.kind == "graph":
        return graph_hosts.topology_numbers(topology)
    if topology.kind != "cells":
        return topology.model_dump(exclude={"kind"}, exclude_none=True)
    homes = [list(home) for home in topology.cells_by_client]
    numbers: dict[str, Any] = {"cells": topology.cells, "cloud": bool(topology.cloud)}
    numbers["homes"] = homes
    visits = [
        [cell for cell in cells if cell not in home]
        for cells, home in zip(later_cells(scenario), homes, strict=True)
    ]
    return numbers | ({"visits": visits} if any(visits) else {})


def build_topology(scenario: Scenario) -> Any:
    """Build the scenario's Mininet topology."""
    return topologies.build(scenario.topology.kind, topology_numbers(scenario))


def link_of(scenario: Scenario, host: str, switch: str, tier: Tier | Shared) -> Link:
    """Return a host's own link, if it has one, or the tier's, or the one it draws there."""
    own = scenario.hosts.get(host)
    if own is not None and own.link is not None:
        return own.link
    return link_draws.draw(scenario.links[tier], scenario.seed, f"{host}-{switch}")


def link_specs(topology: Any, scenario: Scenario) -> tuple[LinkSpec, ...]:
    """Return every host's link with the shapes that the scenario gives for its tier."""
    routers = graph_hosts.router_names(scenario.topology)
    specs = []
    for host, switch, parameters in topology.links(sort=False, withInfo=True):
        if parameters.get("trunk"):
            continue
        tier = parameters.get("tier")
        if tier is None:
            specs.append(_attachment(scenario, host, switch, topology.nodeInfo(host)["role"]))
            continue
        link = link_of(scenario, host, switch, tier)
        row = _first_row(link, f"{host}-{switch}", scenario.seed)
        least = SHARED_QUEUE if switch in routers else 0  # the way beyond it may be long
        ways = shapes(link, least)
        spec = LinkSpec(host, switch, tier, link.profile, *ways, link.trace, row)
        specs.append(replace(spec, offload=link.offload))
    return tuple(
        replace(spec, network=GRAPH_NETWORK) if spec.switch in routers else spec for spec in specs
    )


def trunk_specs(topology: Topology) -> tuple[LinkSpec, ...]:
    """Return the links between the routers of a graph; none for other topologies."""
    return tuple(
        LinkSpec(first, second, None, None, up, down, shared=f"{first}-{second}")
        for first, second, (up, down) in graph_hosts.trunks(topology)
    )


def _attachment(scenario: Scenario, server: str, switch: str, role: Shared) -> LinkSpec:
    """Return a server's link to its own switch, shaped if the scenario says what is shared there.

    What the server sends leaves its host: towards the server is `down` here.
    """
    shared: Shared = "cell" if scenario.topology.kind == "cells" and role == "edge" else role
    if shared not in scenario.links:
        return LinkSpec(server, switch, None, None, None, None)
    link = link_draws.draw(scenario.links[shared], scenario.seed, f"{server}-{switch}")
    up, down = shapes(link, SHARED_QUEUE)
    return LinkSpec(server, switch, None, link.profile, down, up, shared=f"links.{shared}")
