"""Measures the links before training, for the fidelity verdict."""

from typing import Any

from contracts.control import Listen, Listening, Measure, Measured
from contracts.plan import Plan
from netem import probe
from nodes.launch.processes import NodeProcesses


def probe_links(plan: Plan, processes: NodeProcesses) -> list[dict[str, Any]]:
    """Measure one link of every kind in use, between the hosts that will use it."""
    found = []
    kinds = {(link.tier, link.up, link.down): link for link in reversed(plan.links)}
    for link in kinds.values():
        server = plan.server_across(link)
        if link.up is None or link.down is None or server is None:
            continue
        address = server.addresses[link.switch]
        processes.order(server.name, Listen(address))
        processes.answer(server.name, Listening)
        trip = probe.expected_round_trip(link.up, link.down)
        upload, download = (probe.probe_bytes(way, trip) for way in (link.up, link.down))
        processes.order(link.host, Measure(address, upload, download))
        found.append(probe.record(link, processes.answer(link.host, Measured)))
    return found
