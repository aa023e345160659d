"""Nodes and links for the report's drawing, with each link's traffic and capacity."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from reports.bottleneck.used_links import with_mean_rates
from reports.records.run_records import RunRecords
from reports.records.traffic import LinkTotals


def network(records: RunRecords, plan: Plan, places: dict[str, int]) -> dict[str, Any]:
    """Return the network's nodes and the links that were used or belong to a client's servers."""
    links = []
    for link in plan.links:
        server = plan.server_across(link) if link.tier else None
        counts = _counts(records.link_totals.get(link.name, LinkTotals()), plan)
        at_home = server is not None and server.name in dict(plan.node(link.host).servers)
        if link.tier and (at_home or server is None or any(counts)):
            across = places[server.name] if server else places.get(_parent(plan, link), -1)
            described = _described(plan, link, records.elapsed)
            links.append([link.name, places[link.host], across, *described, *counts])
    drawn: dict[str, Any] = {"shared": list(_shared(records, plan, places))}
    if plan.links_differ:
        drawn["kinds"] = [_kind(plan, node.name) for node in plan.nodes]
    if plan.trunks:
        drawn["graph"] = _graph(records, plan)
    return drawn | {
        "topology": plan.topology,
        "nodes": [
            [
                node.name,
                node.role,
                [places[name] for name, _ in node.servers] or _above(node.parent, places),
                node.device,
                node.samples,
            ]
            for node in plan.nodes
        ],
        "links": links,
        "seconds": records.elapsed,
    }


def _counts(totals: LinkTotals, plan: Plan) -> list[int]:
    """Return training bytes and drops, up and down; with background flows also their bytes."""
    counts = [totals.up, totals.down, totals.drops_up, totals.drops_down]
    return [*counts, totals.background_up, totals.background_down] if plan.traffic else counts


def _described(plan: Plan, link: LinkSpec, elapsed: float) -> list[Any]:
    """Return a link's tier, name and shapes; for a link with a trace, mean rates over the run."""
    up, down = (
        with_mean_rates(plan, link, 0.0, elapsed) if link.up and link.down else (link.up, link.down)
    )
    name = link.profile or (Path(link.trace).stem if link.trace else None)
    return [link.tier, name, _shape(up), _shape(down)]


def _shared(records: RunRecords, plan: Plan, places: dict[str, int]) -> Iterator[list[Any]]:
    """Yield what servers share among all that cross it, in the form of links; up is to them."""
    for link in plan.links:
        if link.shared and link.up and link.down and (link.up.rate or link.down.rate):
            own = records.shared_totals.get(link.name, LinkTotals())
            counts = [own.down, own.up, own.drops_down, own.drops_up]
            shapes = [_shape(link.down), _shape(link.up)]
            yield [link.name, places[link.host], -1, link.shared, link.profile, *shapes, *counts]


def _kind(plan: Plan, node: str) -> str:
    """Return the profile of a client's own link."""
    if plan.node(node).role != "client":
        return ""
    return next((link.profile or "" for link in plan.links if link.host == node and link.tier), "")


def _graph(records: RunRecords, plan: Plan) -> dict[str, Any]:
    """Return the routers with their places, the trunks, and the router of every node."""
    numbers = plan.topology_numbers
    routers: list[str] = numbers["routers"]
    index = {router: place for place, router in enumerate(routers)}
    at = {link.host: index[link.switch] for link in plan.links if link.switch in index}
    trunks = []
    for trunk in plan.trunks:
        counts = _counts(records.shared_totals.get(trunk.name, LinkTotals()), plan)
        ends = [index[trunk.host], index[trunk.switch]]
        shapes = [_shape(trunk.up), _shape(trunk.down)]
        trunks.append([trunk.name, *ends, "trunk", None, *shapes, *counts])
    return {
        "routers": [[router, *numbers["places"][router]] for router in routers],
        "trunks": trunks,
        "at": [at.get(node.name, -1) for node in plan.nodes],
    }


def _shape(shape: Shape | None) -> list[Any] | None:
    return [shape.rate, shape.delay, shape.jitter, shape.loss] if shape else None


def _parent(plan: Plan, link: LinkSpec) -> str:
    return plan.node(link.host).parent or ""


def _above(parent: str | None, places: dict[str, int]) -> list[int]:
    return [places[parent]] if parent in places else []
