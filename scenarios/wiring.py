"""Which links a scenario has: its topology as Mininet builds it, and every link's shape."""

import math
from collections.abc import Sequence
from typing import Any

from netem import topologies
from netem.shaping import DEEP, FRAME_BYTES
from protocols import registry
from scenarios import quantities
from scenarios.events import Handover
from scenarios.plan import LinkSpec, Shape
from scenarios.schema import Scenario
from scenarios.sections import Link

SHORTEST_QUEUE = 64  # packets: below that slow start overflows even the shortest link


def shapes(link: Link) -> tuple[Shape, Shape]:
    """A link's two directions in numbers: up (towards the upper tier) and down."""
    delay, jitter = quantities.seconds(link.delay), quantities.seconds(link.jitter)

    def shape(rate_text: str | None) -> Shape:
        rate = quantities.bits_per_second(rate_text) if rate_text else None
        queue = link.queue or default_queue(rate, delay)
        return Shape(rate, delay, jitter, quantities.share(link.loss), queue)

    return shape(link.rate_up or link.rate), shape(link.rate_down or link.rate)


def default_queue(rate: float | None, delay: float) -> int:
    """Packets in one bandwidth-delay product of the link's own round trip, within reason."""
    if rate is None:
        return DEEP
    return max(SHORTEST_QUEUE, math.ceil(rate * 2 * delay / (8 * FRAME_BYTES)))


def members(scenario: Scenario, heard: Sequence[int]) -> list[int]:
    """Of the cells that a client hears, those that it belongs to under the scenario's method."""
    return list(heard if registry.hears_all_cells(scenario.protocol.name) else heard[:1])


def visited(scenario: Scenario) -> list[list[int]]:
    """For every client the cells (from 0) that it may come to belong to, besides those at first."""
    topology = scenario.topology
    if topology.kind != "cells":
        return [[] for _ in range(topology.client_count)]
    every = range(topology.cells or 0) if scenario.mobility else ()
    reached = {f"client{number}": set(every) for number in range(1, topology.client_count + 1)}
    for event in scenario.timeline:
        if isinstance(event, Handover):
            reached[event.client].update(members(scenario, [cell - 1 for cell in event.to]))
    return [
        sorted(cells.difference(members(scenario, home)))
        for cells, home in zip(reached.values(), topology.homes, strict=True)
    ]


def topology_numbers(scenario: Scenario) -> dict[str, Any]:
    """The arguments of the scenario's Mininet topology."""
    topology = scenario.topology
    if topology.kind != "cells":
        return topology.model_dump(exclude={"kind"}, exclude_none=True)
    homes = [list(home) for home in topology.homes]
    numbers = {"cells": topology.cells, "cloud": bool(topology.cloud), "homes": homes}
    visits = [
        [cell for cell in cells if cell not in home]
        for cells, home in zip(visited(scenario), homes, strict=True)
    ]
    return numbers | ({"visits": visits} if any(visits) else {})


def topo(scenario: Scenario) -> Any:
    """The scenario's Mininet topology."""
    return topologies.build(scenario.topology.kind, topology_numbers(scenario))


def links(built: Any, scenario: Scenario) -> tuple[LinkSpec, ...]:
    """Every link of the topology, shaped as the scenario says for its tier."""
    specs = []
    for host, switch, parameters in built.links(sort=False, withInfo=True):
        tier = parameters.get("tier")
        link = scenario.links[tier] if tier else None
        up, down = shapes(link) if link else (None, None)
        specs.append(LinkSpec(host, switch, tier, link.profile if link else None, up, down))
    return tuple(specs)
