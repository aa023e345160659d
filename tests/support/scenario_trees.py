"""Small scenarios as plain data, for tests to change and load."""

from collections.abc import Mapping
from typing import Any

from contracts.plan import Plan
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts

TENSORS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "weight": ("float32", (4, 3)),
    "bias": ("float32", (4,)),
}


def tree_scenario(**sections: Any) -> dict[str, Any]:
    """Return a tree of two institutions with three clients each; `sections` replace sections."""
    return {
        "name": "small",
        "task": {"dataset": "tiny", "model": "lenet5"},
        "protocol": {"name": "fedavg", "rounds": 2},
        "topology": {"kind": "tree", "institutions": 2, "clients_per_institution": 3},
        "links": {"client-edge": "wifi", "edge-cloud": "wan-droplet"},
        "devices": {"client": "phone", "edge": "laptop-core", "cloud": "droplet-1gb"},
        **sections,
    }


def star_scenario(clients: int = 3, **sections: Any) -> dict[str, Any]:
    """Return a star of a cloud and its clients; `sections` replace sections."""
    own = {
        "topology": {"kind": "star", "clients": clients},
        "links": {"client-cloud": "lte"},
        "devices": {"client": "phone", "cloud": "droplet-1gb"},
    }
    return tree_scenario(**own | sections)


def planned(
    tree: dict[str, Any],
    flops_per_step: int = 1_000_000,
    tensors: Mapping[str, tuple[str, tuple[int, ...]]] = TENSORS,
) -> Plan:
    """Plan such a scenario; the first client has 10 samples, the next 11, and so on."""
    scenario = loader.check(tree)
    samples = [10 + index for index in range(scenario.topology.client_count)]
    facts = TaskFacts(samples=samples, flops_per_step=flops_per_step, tensors=tensors)
    return planner.plan(scenario, facts, run="small-run", trainer="pool")
