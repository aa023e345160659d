"""Nodes and links for the report's drawing, with each link's traffic and capacity."""

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
    return {
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


def _shape(shape: Shape | None) -> list[Any] | None:
    return [shape.rate, shape.delay, shape.jitter, shape.loss] if shape else None


def _parent(plan: Plan, link: LinkSpec) -> str:
    return plan.node(link.host).parent or ""


def _above(parent: str | None, places: dict[str, int]) -> list[int]:
    return [places[parent]] if parent in places else []
