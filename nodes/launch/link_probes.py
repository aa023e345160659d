"""Measures the links before training, for the fidelity verdict."""

import math
from typing import Any

from contracts.control import Listen, Listening, Measure, Measured
from contracts.links import LinkSpec
from contracts.paths import end_to_end
from contracts.plan import Plan
from netem import probe
from nodes.launch.processes import NodeProcesses

_MOST_KINDS = 12  # of a tier; a spread gives every host a kind of its own


def probe_links(plan: Plan, processes: NodeProcesses) -> list[dict[str, Any]]:
    """Measure one link of every kind in use, between the hosts that will use it."""
    found = []
    for link in links_to_probe(plan):
        server, path = plan.server_across(link), end_to_end(plan.path(link))
        if path is None or server is None:
            continue
        address = server.addresses[link.network_name]
        processes.order(server.name, Listen(address))
        processes.answer(server.name, Listening)
        trip = probe.expected_round_trip(*path)
        upload, download = (probe.probe_bytes(way, trip) for way in path)
        processes.order(link.host, Measure(address, upload, download))
        measured = processes.answer(link.host, Measured)
        found.append(probe.record(link, path, measured, plan.socket_buffer))
    return found


def links_to_probe(plan: Plan) -> list[LinkSpec]:
    """Return one link of every kind; of a tier with very many kinds some, from slow to fast."""
    kinds = {(link.tier, end_to_end(plan.path(link))): link for link in reversed(plan.links)}
    by_tier: dict[str | None, list[LinkSpec]] = {}
    for link in kinds.values():
        by_tier.setdefault(link.tier, []).append(link)
    chosen = {link.name for links in by_tier.values() for link in _some(links)}
    return [link for link in kinds.values() if link.name in chosen]


def _some(links: list[LinkSpec]) -> list[LinkSpec]:
    if len(links) <= _MOST_KINDS:
        return links
    ordered = sorted(links, key=_slower_rate)
    step = (len(ordered) - 1) / (_MOST_KINDS - 1)
    return [ordered[round(place * step)] for place in range(_MOST_KINDS)]


def _slower_rate(link: LinkSpec) -> float:
    rates = [way.rate for way in (link.up, link.down) if way is not None and way.rate]
    return min(rates, default=math.inf)
