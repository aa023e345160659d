"""Who hears which cells, as a topology and as a plan."""

from typing import Any

import pytest

from contracts.errors import BadInput
from contracts.plan import Plan
from learning.data.main_classes import main_classes
from netem import topologies
from scenarios import loader, planner
from scenarios.cells import cells_by_client
from scenarios.task_facts import TaskFacts
from tests.support.scenario_trees import star_scenario

CELLS = {"kind": "cells", "cells": 3, "alone": 1, "overlap": 2}
SHAPES = {"w": ("float32", (2,))}


def cells_scenario(protocol: str = "multicell", **topology: Any) -> dict[str, Any]:
    tree = star_scenario(topology=CELLS | topology)
    tree["protocol"] = {"name": protocol, "rounds": 2}
    tree["task"] |= {"classes": 9}
    tree["links"] = {"client-edge": "wifi"}
    tree["devices"] = {"client": "phone", "edge": "laptop-core"}
    if topology.get("cloud"):
        tree["links"]["edge-cloud"] = "wan-continent"
        tree["devices"]["cloud"] = "droplet-1gb"
    return tree


def planned(protocol: str = "multicell", classes: int = 9, **topology: Any) -> Plan:
    scenario = loader.check(cells_scenario(protocol, **topology))
    samples = [10] * scenario.topology.client_count
    facts = TaskFacts(samples=samples, flops_per_step=1000, tensors=SHAPES, classes=classes)
    return planner.plan(scenario, facts, run="run", trainer="pool")


def test_clients_alone_come_first_then_those_of_each_overlap_half_from_either_side() -> None:
    found = cells_by_client(3, 1, 2)

    assert found[:3] == [(0,), (1,), (2,)]
    assert found[3:] == [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]


def test_of_an_odd_overlap_the_first_cell_has_one_more() -> None:
    assert cells_by_client(2, 0, 3) == [(0, 1), (0, 1), (1, 0)]


def test_three_cells_may_overlap_in_one_place() -> None:
    assert cells_by_client(3, 0, 0, [((0, 1, 2), 3)]) == [(0, 1, 2), (1, 0, 2), (2, 0, 1)]


def test_the_paper_has_144_clients() -> None:
    assert len(cells_by_client(3, 36, 12)) == 144


def test_main_classes_are_equal_runs_of_all_classes() -> None:
    assert [main_classes(cell, 3, 9) for cell in range(3)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_client_of_an_overlap_has_a_link_and_an_address_for_each_cell() -> None:
    plan = planned()

    client = plan.node("client4")  # the first of cells 1 and 2
    links = {link.name for link in plan.links if link.host == "client4"}
    assert set(client.addresses) == {"cell1", "cell2"}
    assert [name for name, _ in client.servers] == ["edge1", "edge2"]
    assert client.servers[1][1] == plan.node("edge2").addresses["cell2"]
    assert links == {"client4-cell1", "client4-cell2"}


def test_edge_servers_know_whom_they_serve_and_nobody_is_above_them() -> None:
    plan = planned()

    assert plan.tops == ("edge1", "edge2", "edge3")
    assert plan.node("edge1").children == ("client1", "client4", "client5", "client6", "client7")


def test_each_link_leads_to_the_server_of_its_cell() -> None:
    plan = planned()

    across = {link.name: plan.server_across(link) for link in plan.links}
    assert across["client4-cell2"] == plan.node("edge2")
    assert across["edge1-cell1"] is None


def test_a_method_that_shares_nothing_leaves_an_overlap_client_to_its_own_cell() -> None:
    plan = planned("es-fl")

    assert [name for name, _ in plan.node("client4").servers] == ["edge1"]
    assert plan.node("edge2").children == ("client2", "client5", "client8")


def test_a_cloud_can_be_above_the_cells() -> None:
    plan = planned("hierfavg", cloud=True, overlap=0)

    assert plan.tops == ("cloud",)
    assert plan.node("edge1").parent == "cloud"
    assert plan.cells is not None and plan.cells.has_cloud


def test_a_plan_on_cells_survives_its_way_into_the_guest() -> None:
    plan = planned()

    assert Plan.from_json(plan.to_json()) == plan


def test_the_topology_is_one_that_mininet_knows() -> None:
    topo = topologies.build("cells", {"cells": 2, "homes": [[0], [1, 0]], "cloud": False})

    assert topo.hosts() == ["client1", "client2", "edge1", "edge2"]
    assert len(topo.links()) == 2 + 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"cells": None}, 'a cells needs "cells"'),
        ({"clients": 3}, 'a cells has no "clients"'),
        ({"alone": 0, "overlap": 0}, "0 clients"),
        ({"overlaps": [{"cells": [1, 4], "clients": 2}]}, "not different cells of 3"),
        ({"overlaps": [{"cells": [1, 1], "clients": 2}]}, "not different cells of 3"),
        ({"overlaps": [{"cells": [1, 2], "client": 2}]}, 'did you mean "clients"'),
        ({"alone": 10**9}, "alone: input should be less than or equal to 4000"),
    ],
)
def test_impossible_cells_are_refused(change: dict[str, Any], sentence: str) -> None:
    tree = cells_scenario()
    tree["topology"] = {k: v for k, v in (CELLS | change).items() if v is not None}

    with pytest.raises(BadInput, match=sentence):
        loader.check(tree)


@pytest.mark.parametrize(
    ("name", "cloud", "sentence"),
    [
        ("hierfavg", False, "needs a cloud; set topology.cloud = true"),
        ("fedmes", True, "works without a cloud; take topology.cloud out"),
    ],
)
def test_a_method_gets_the_cloud_it_needs_and_no_other(
    name: str, cloud: bool, sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        loader.check(cells_scenario(name, cloud=cloud))


def test_classes_that_cannot_be_shared_out_are_refused() -> None:
    with pytest.raises(BadInput, match="10 classes cannot be shared out among 3 cells"):
        planned(classes=10)


def test_an_edge_server_without_clients_is_refused() -> None:
    with pytest.raises(BadInput, match="edge3 would serve nobody"):
        planned("es-fl", alone=0, overlap=1)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"protocol": {"name": "hierfavg", "rounds": 1}}, "protocol.edge_rounds: hierfavg holds"),
        ({"protocol": {"name": "es-fl", "rounds": 1}}, 'use topology.kind = "cells"'),
        ({"task": {"rho": [0.5]}}, "task.rho: a share of a cell's main classes"),
        (
            {"task": {"partition": "main-classes"}},
            "task.partition: main-classes are those of cells",
        ),
    ],
)
def test_what_a_star_would_ignore_is_refused(changes: dict[str, Any], sentence: str) -> None:
    tree = star_scenario()
    for section, values in changes.items():
        tree[section] |= values

    with pytest.raises(BadInput, match=sentence):
        loader.check(tree)
