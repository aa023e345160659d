"""From a checked scenario to a plan."""

from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from contracts.errors import BadInput
from contracts.plan import Limits, Plan
from netem import shaping, topologies
from protocols import registry
from protocols.costs import StepCosts
from scenarios import link_shapes, loader, planner
from scenarios.schema import MOST_CLIENTS, MOST_INSTITUTIONS
from scenarios.sections import Link
from scenarios.task_facts import TaskFacts
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

LONGEST_INTERFACE_NAME = 15  # Linux: IFNAMSIZ less its closing zero


def tree(institutions: int, clients: int) -> dict[str, Any]:
    sizes = {"institutions": institutions, "clients_per_institution": clients}
    return tree_scenario(topology={"kind": "tree", **sizes})


# Nodes


def test_a_tree_has_a_cloud_institutions_and_their_clients() -> None:
    plan = planned(tree_scenario())

    assert [node.name for node in plan.nodes if node.role == "edge"] == ["inst1", "inst2"]
    assert plan.node("cloud").children == ("inst1", "inst2")
    assert plan.node("cloud").parent is None
    assert plan.node("inst2").parent == "cloud"
    assert plan.node("inst2").children == ("client4", "client5", "client6")
    assert plan.node("client4").parent == "inst2"
    assert plan.node("client4").children == ()


def test_a_stars_clients_are_the_clouds_own() -> None:
    plan = planned(star_scenario(clients=3))

    assert plan.node("cloud").children == ("client1", "client2", "client3")
    assert {node.role for node in plan.nodes} == {"cloud", "client"}


def test_clients_are_numbered_from_zero_and_have_their_own_samples() -> None:
    plan = planned(tree_scenario())

    clients = [node for node in plan.nodes if node.role == "client"]
    others = [node for node in plan.nodes if node.role != "client"]
    assert [node.index for node in clients] == list(range(6))
    assert [node.samples for node in clients] == [10, 11, 12, 13, 14, 15]
    assert all((node.index, node.samples) == (-1, 0) for node in others)


def test_a_step_takes_its_flops_over_the_devices_speed_and_the_overhead() -> None:
    device = {"speed": 2e9, "overhead": "3ms", "memory": "4gb"}
    devices = {"client": device, "edge": "phone", "cloud": "phone"}

    plan = planned(tree_scenario(devices=devices), flops_per_step=10_000_000)

    assert plan.node("client1").seconds_per_step == pytest.approx(0.005 + 0.003)
    assert plan.node("client1").memory_bytes_per_second == 4e9
    assert plan.node("client1").device == "custom"
    assert plan.node("inst1").device == "phone"


def test_a_rules_steps_take_their_own_flops_over_the_devices_speed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = {"speed": 2e9, "overhead": "3ms", "memory": "4gb"}
    costs = StepCosts(parameters=7, batch_size=10, forward=(5, 9), representations=(1, 2))
    dear = replace(registry.method("fedavg"), extra_flops=lambda c: [2e6, c.forward[1] * 1e6])
    monkeypatch.setattr(registry, "method", lambda _name: dear)
    scenario = loader.check(star_scenario(devices={"client": device, "cloud": "phone"}))

    facts = TaskFacts(samples=[1, 1, 1], flops_per_step=10, tensors={}, costs=costs)

    plan = planner.plan(scenario, facts, run="run", trainer="pool")

    assert plan.node("client1").extra_seconds == (0.001, 0.0045)
    assert plan.node("client1").seconds_per_step == 10 / 2e9 + 0.003
    # Five steps: 1 + 4.5 + 1 + 4.5 + 1 ms
    assert plan.node("client1").rule_seconds(5) == pytest.approx(0.012, rel=1e-15)
    assert plan.node("client1").rule_seconds(0) == 0
    assert Plan.from_json(plan.to_json()) == plan


def test_plain_methods_pay_for_no_rule() -> None:
    costs = StepCosts(parameters=7, batch_size=10, forward=(5, 9), representations=(1, 2))

    assert registry.method("fedavg").extra_flops(costs) == ()
    assert planned(star_scenario()).node("client1").rule_seconds(1000) == 0


# Addresses and names


@pytest.mark.parametrize(
    "scenario",
    [tree_scenario(), star_scenario(clients=600), tree(MOST_INSTITUTIONS, 2)],
    ids=["small tree", "star beyond one byte", "widest tree"],
)
def test_addresses_are_unique_and_one_network_to_each_switch(scenario: dict[str, Any]) -> None:
    plan = planned(scenario)

    addresses = [address for node in plan.nodes for address in node.addresses.values()]
    assert len(set(addresses)) == len(addresses) == len(plan.links)
    networks: dict[str, set[str]] = {}
    for node in plan.nodes:
        for switch, address in node.addresses.items():
            network = ip_network(f"{address}/16", strict=False)
            assert ip_address(address) not in (network.network_address, network.broadcast_address)
            networks.setdefault(switch, set()).add(str(network))
    assert all(len(found) == 1 for found in networks.values())
    assert len(set.union(*networks.values())) == len(networks)


def test_a_child_knows_its_parents_address_on_the_switch_they_share() -> None:
    plan = planned(tree_scenario())

    for node in plan.nodes:
        if node.parent is None:
            assert node.parent_address is None
            continue
        parent = plan.node(node.parent)
        shared = set(node.addresses) & set(parent.addresses)
        assert [parent.addresses[switch] for switch in shared] == [node.parent_address]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("star", {"clients": MOST_CLIENTS}),
        ("tree", {"institutions": 1, "clients_per_institution": MOST_CLIENTS}),
        ("tree", {"institutions": MOST_INSTITUTIONS, "clients_per_institution": 16}),
    ],
)
def test_every_interface_has_a_name_that_linux_takes(kind: str, numbers: dict[str, int]) -> None:
    topo = topologies.build(kind, numbers)

    names = list(topo.switches())
    for node, ports in topo.ports.items():
        names += [f"{node}-eth{port}" for port in ports]

    assert max(map(len, names)) <= LONGEST_INTERFACE_NAME
    assert len(set(names)) == len(names)


# Links


def test_up_leaves_the_host_and_down_reaches_it() -> None:
    up, down = link_shapes.shapes(Link(rate_up="1mbit", rate_down="8mbit", delay="20ms", loss="1%"))

    assert (up.rate, down.rate) == (1e6, 8e6)
    assert (up.delay, up.loss) == (down.delay, down.loss) == (0.02, 0.01)


def test_only_links_with_a_tier_are_shaped() -> None:
    plan = planned(tree_scenario())

    attachments = {link.name for link in plan.links if link.tier is None}
    assert attachments == {"cloud-wan", "inst1-lan1", "inst2-lan2"}
    assert all((link.up is None) == (link.tier is None) for link in plan.links)
    assert {link.profile for link in plan.links if link.tier == "edge-cloud"} == {"wan-droplet"}


def test_the_queue_is_one_bandwidth_delay_product_of_the_round_trip() -> None:
    # 100 Mbit/s and 2 x 50 ms are 10 Mbit, 1.25 MB, 825.6 frames of 1514 bytes
    up, _ = link_shapes.shapes(Link(rate="100mbit", delay="50ms"))

    assert up.queue == 826


def test_each_direction_has_its_own_queue() -> None:
    up, down = link_shapes.shapes(Link(rate_up="50mbit", rate_down="200mbit", delay="30ms"))

    assert (up.queue, down.queue) == (248, 991)


def test_a_short_link_still_has_room_for_a_burst() -> None:
    up, _ = link_shapes.shapes(Link(rate="1mbit", delay="1ms"))

    assert up.queue == shaping.SHORTEST_QUEUE


def test_a_queue_that_is_given_is_taken() -> None:
    up, down = link_shapes.shapes(Link(rate="100mbit", delay="50ms", queue=7))

    assert (up.queue, down.queue) == (7, 7)


def test_a_link_without_a_rate_never_fills_its_queue() -> None:
    up, _ = link_shapes.shapes(Link(delay="50ms"))

    assert (up.rate, up.queue) == (None, shaping.UNLIMITED_QUEUE)


# The rest of the plan


def test_limits_are_in_seconds_and_bytes() -> None:
    limits = {"join": "5s", "round": "2min", "late": "quorum", "quorum": 0.5, "message": "1mb"}

    plan = planned(tree_scenario(limits=limits))

    assert plan.limits == Limits(
        join=5.0,
        round=120.0,
        late="quorum",
        quorum=0.5,
        message=1_000_000,
        patience=None,
    )


def test_a_model_larger_than_a_message_may_be_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^limits\.message: the model needs \d+ bytes; raise it"):
        planned(tree_scenario(limits={"message": "1kb"}))


def test_settings_are_complete_with_their_defaults() -> None:
    plan = planned(tree_scenario(protocol={"name": "fedavg", "rounds": 4, "local_epochs": 2}))

    assert plan.settings == {
        "rounds": 4,
        "edge_rounds": 1,
        "local_epochs": 2,
        "clients_per_round": 0,
    }
    assert plan.rounds == 4


@pytest.mark.parametrize(("clock", "pause"), [("wall", "sleep"), ("virtual", "fsync")])
def test_only_on_the_virtual_clock_time_stands_still_for_a_late_result(
    clock: str, pause: str
) -> None:
    assert planned(tree_scenario(clock=clock)).pause == pause


def test_the_same_scenario_gives_the_same_plan() -> None:
    assert planned(loader.load("quickstart").model_dump()) == planned(
        loader.load("quickstart").model_dump()
    )


def test_the_models_size_is_that_of_its_tensors() -> None:
    assert planned(tree_scenario()).model_bytes == 4 * (4 * 3 + 4)


def test_devices_drawn_from_a_mix_are_the_same_for_the_same_seed() -> None:
    mix = {"client": {"mix": {"phone": 1, "jetson-nano": 1}}, "cloud": "droplet-1gb"}

    one, same = (planned(star_scenario(clients=40, devices=mix)) for _ in range(2))

    drawn = [node.device for node in one.nodes if node.role == "client"]
    assert drawn == [node.device for node in same.nodes if node.role == "client"]
    assert 8 <= drawn.count("phone") <= 32
