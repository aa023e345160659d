"""Which links of a scenario carry packets of many frames."""

from typing import Any

import pytest

from contracts.plan import Plan
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

RESNET = {"weights": ("float32", (11_175_000,))}  # 44.7 MB
GIGABIT, SLOWER = {"rate": "1gbit", "delay": "10ms"}, {"rate": "50mbit", "delay": "50ms"}


def frames(tree: dict[str, Any]) -> dict[str, tuple[int, int]]:
    plan = planned(tree, tensors=RESNET)
    assert Plan.from_json(plan.to_json()) == plan
    return {link.name: (link.frames_up, link.frames_down) for link in plan.links_and_trunks}


def star(link: Any = GIGABIT, **more: Any) -> dict[str, Any]:
    links = {"client-cloud": link, **more.pop("links", {})}
    return star_scenario(links=links, **{"clock": "virtual", **more})


def test_each_network_has_as_many_frames_as_its_links_bear() -> None:
    links = {"client-edge": GIGABIT, "edge-cloud": SLOWER}

    found = frames(tree_scenario(links=links, clock="virtual"))

    assert {found["client1-lan1"], found["inst1-lan1"]} == {(8, 8)}
    assert {found["inst1-wan"], found["cloud-wan"]} == {(1, 1)}


def test_the_directions_differ_and_a_server_sends_what_its_clients_receive() -> None:
    found = frames(star({"rate_up": "10mbit", "rate_down": "1gbit", "delay": "10ms"}))

    assert found["client1-wan"] == (1, 8)
    assert found["cloud-wan"] == (8, 1)


def test_the_slowest_link_of_a_network_decides_for_all() -> None:
    found = frames(star(hosts={"client2": {"link": SLOWER}}))

    assert set(found.values()) == {(1, 1)}


def test_where_several_share_a_link_packets_are_frames() -> None:
    assert set(frames(star(links={"cloud": {"rate": "10gbit"}})).values()) == {(1, 1)}


def test_a_link_that_loses_packets_later_has_one_frame_a_packet_from_the_beginning() -> None:
    event = {"event": "link", "at": "5s", "tier": "client-cloud", **GIGABIT, "loss": "1%"}

    assert set(frames(star(timeline=[event])).values()) == {(1, 1)}


@pytest.mark.parametrize(
    "tree",
    [
        star({**GIGABIT, "offload": False}),
        star(transport={"offload": False}),
        star(clock="wall"),
    ],
    ids=["link", "scenario", "wall clock"],
)
def test_it_can_be_switched_off_and_needs_the_virtual_clocks_kernel(tree: dict[str, Any]) -> None:
    assert set(frames(tree).values()) == {(1, 1)}


def test_the_fastest_line_of_a_network_must_bear_it_too() -> None:
    faster = {"link": {"rate": "2gbit", "delay": "10ms"}}  # a model takes 179 ms

    assert set(frames(star(hosts={"client2": faster})).values()) == {(1, 1)}


def test_small_models_have_one_frame_a_packet() -> None:
    plan = planned(star())

    assert {(link.frames_up, link.frames_down) for link in plan.links} == {(1, 1)}
