"""Scenarios of three cells with events or moving clients."""

from typing import Any

from contracts.plan import Plan
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts
from tests.scenarios.test_cells_topology import SHAPES, cells_scenario

# Three cells with a client alone in each (client1 to client3), and two in each overlap: client4
# and client5 hear cells 1 and 2, client6 and client7 cells 1 and 3, client8 and client9 2 and 3.
HANDOVER = {"at": "10s", "event": "handover", "client": "client1", "to": [2]}


LINK = {"at": "5s", "event": "link", "link": "client4-cell2", "profile": "3g"}


OUTAGE = {"at": 3, "event": "outage", "cell": 2, "until": "8s"}


CRASH = {"at": "4s", "event": "crash", "node": "client3"}


RESTART = {"at": "6s", "event": "restart", "node": "client3"}


WALK = {"model": "walk", "speed": 1.4, "dwell": "5s", "spacing": 200.0, "radius": 115.0}


def with_events(*events: dict[str, Any], protocol: str = "multicell", **topology: Any) -> Any:
    return cells_scenario(protocol, **topology) | {"timeline": list(events)}


def walking(protocol: str = "multicell", events: tuple[Any, ...] = (), **values: Any) -> Any:
    return with_events(*events, protocol=protocol) | {"mobility": WALK | values}


def plan_of(tree: dict[str, Any]) -> Plan:
    scenario = loader.check(tree)
    samples = [10] * scenario.topology.client_count
    facts = TaskFacts(samples=samples, flops_per_step=1000, tensors=SHAPES, classes=9)
    return planner.plan(scenario, facts, run="run", trainer="pool")
