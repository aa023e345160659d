"""Builds a scenario's Mininet topology and works out the shape of each of its links."""

import random
from collections.abc import Sequence
from typing import Any

from contracts.errors import BadInput
from contracts.links import LinkSpec, Shape
from contracts.traces import Trace
from netem import topologies
from netem.shaping import default_queue, frames_in_flight
from protocols import registry
from scenarios import link_draws, quantities, trace_files
from scenarios.events import ScheduledHandover
from scenarios.schema import Scenario
from scenarios.sections import Link, Tier


def shapes(link: Link) -> tuple[Shape, Shape]:
    """Return the link's shapes upwards (towards the upper tier) and downwards."""
    if link.trace is not None:
        return _traced_shapes(link, trace_files.load(link.trace))
    delay, jitter = quantities.seconds(link.delay), quantities.seconds(link.jitter)

    def shape(rate_text: str | None) -> Shape:
        rate = quantities.bits_per_second(rate_text) if rate_text else None
        queue = link.queue or default_queue(rate, delay)
        return Shape(rate, delay, jitter, quantities.share(link.loss), queue)

    return shape(link.rate_up or link.rate), shape(link.rate_down or link.rate)


def _traced_shapes(link: Link, trace: Trace) -> tuple[Shape, Shape]:
    """Return the shapes of the trace's first row, with a queue long enough for all of its rows."""
    first, own_delay = trace.first, quantities.seconds(link.delay)
    jitter, loss = quantities.seconds(link.jitter), quantities.share(link.loss)
    delays = [own_delay if row.delay is None else row.delay for row in trace.rows]
    if jitter > min(delays):
        raise BadInput(f'trace "{link.trace}": a delay in it is below the jitter; lower the jitter')
    delay = own_delay if first.delay is None else first.delay
    loss = loss if first.loss is None else first.loss

    def shape(rate: float, highest: float) -> Shape:
        queue = link.queue or default_queue(highest, max(delays))
        queue += frames_in_flight(highest, max(delays) + jitter)
        return Shape(rate, delay, jitter, loss, queue, varies=True)

    return (
        shape(first.rate_up, max(row.rate_up for row in trace.rows)),
        shape(first.rate_down, max(row.rate_down for row in trace.rows)),
    )


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
    if topology.kind != "cells":
        return topology.model_dump(exclude={"kind"}, exclude_none=True)
    homes = [list(home) for home in topology.cells_by_client]
    numbers = {"cells": topology.cells, "cloud": bool(topology.cloud), "homes": homes}
    visits = [
        [cell for cell in cells if cell not in home]
        for cells, home in zip(later_cells(scenario), homes, strict=True)
    ]
    return numbers | ({"visits": visits} if any(visits) else {})


def build_topology(scenario: Scenario) -> Any:
    """Build the scenario's Mininet topology."""
    return topologies.build(scenario.topology.kind, topology_numbers(scenario))


def link_of(scenario: Scenario, host: str, switch: str, tier: Tier) -> Link:
    """Return a host's own link, if it has one, or the tier's, or the one it draws there."""
    own = scenario.hosts.get(host)
    if own is not None and own.link is not None:
        return own.link
    return link_draws.draw(scenario.links[tier], scenario.seed, f"{host}-{switch}")


def link_specs(topology: Any, scenario: Scenario) -> tuple[LinkSpec, ...]:
    """Return every link of the topology with the shapes that the scenario gives for its tier."""
    specs = []
    for host, switch, parameters in topology.links(sort=False, withInfo=True):
        tier = parameters.get("tier")
        if tier is None:
            specs.append(LinkSpec(host, switch, tier, None, None, None))
            continue
        link = link_of(scenario, host, switch, tier)
        row = _first_row(link, f"{host}-{switch}", scenario.seed)
        specs.append(LinkSpec(host, switch, tier, link.profile, *shapes(link), link.trace, row))
    return tuple(specs)
