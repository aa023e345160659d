"""What a server or a cell shares among all that cross it: planned, refused, and warned about."""

import dataclasses
from typing import Any

import pytest

from contracts.links import LinkSpec
from contracts.plan import Plan
from netem import shaping
from scenarios import shared_load
from tests.scenarios.test_cells_topology import cells_scenario
from tests.support.scenario_trees import planned, star_scenario, tree_scenario
from tests.support.spoilt_scenarios import refusal_of

ASYMMETRIC = {"rate_up": "2mbit", "rate_down": "8mbit"}


def star_with(cloud: Any) -> dict[str, Any]:
    return star_scenario(links={"client-cloud": "lte", "cloud": cloud})


def link(plan: Plan, name: str) -> LinkSpec:
    return next(link for link in plan.links if link.name == name)


def test_up_is_towards_the_server() -> None:
    own = link(planned(star_with(ASYMMETRIC)), "cloud-wan")

    assert own.down is not None and own.up is not None
    assert (own.down.rate, own.up.rate) == (2e6, 8e6), "updates reach the cloud's host"
    assert own.shared == "links.cloud"
    assert own.tier is None
    assert own.up.queue == 1000, "many connections meet there"


def test_each_institution_has_its_own() -> None:
    tree = tree_scenario()
    tree["links"] |= {"edge": {"rate": "5mbit"}, "cloud": {"rate": "9mbit"}}

    plan = planned(tree)

    shaped = {found.name: found.up.rate for found in plan.links if found.shared and found.up}
    assert shaped == {"cloud-wan": 9e6, "inst1-lan1": 5e6, "inst2-lan2": 5e6}
    above = link(plan, "inst1-wan")
    assert above.shared is None
    assert [hop.link.name for hop in plan.path(above)] == ["inst1-wan", "cloud-wan"]


def test_the_air_of_a_cell_is_at_its_edge_server() -> None:
    tree = cells_scenario()
    tree["links"] |= {"cell": {"rate": "5mbit"}}

    plan = planned(tree)

    assert {found.name for found in plan.links if found.shared == "links.cell"} == {
        "edge1-cell1",
        "edge2-cell2",
        "edge3-cell3",
    }


def test_left_out_a_server_is_attached_without_a_limit() -> None:
    own = link(planned(star_scenario()), "cloud-wan")

    assert (own.up, own.down, own.shared) == (None, None, None)
    assert not planned(star_scenario()).shares_links


def test_connections_take_turns_where_the_queue_is_fq_codel() -> None:
    own = link(planned(star_with({"rate": "2mbit", "queueing": "fq_codel"})), "cloud-wan")

    assert own.up is not None
    kinds = [part.kind for part in shaping.disciplines(own.up, 0.0)]
    assert kinds == ["htb", "htb", "fq_codel"]


@pytest.mark.parametrize(
    ("tree", "start", "remedy"),
    [
        (
            star_with({"rate": "1mbit", "delay": "5ms", "queueing": "fq_codel"}),
            "links.cloud: queueing",
            "put them on another link",
        ),
        (star_with({"rate": "1mbit", "queueing": "red"}), "links.cloud.queueing: ", "fq_codel"),
        (
            star_scenario(links={"client-cloud": "lte", "edge": "lan"}),
            "links.edge: a star has no such part",
            "it has client-cloud, cloud",
        ),
        (star_with({"trace": "lte-driving"}), "links.cloud: ", "give it a rate"),
        (star_with("lann"), 'links.cloud: unknown profile "lann"', 'did you mean "lan"?'),
    ],
)
def test_what_cannot_be_shared_is_refused(tree: dict[str, Any], start: str, remedy: str) -> None:
    sentence = refusal_of(tree)

    assert sentence.startswith(start)
    assert remedy in sentence


def test_a_link_too_slow_for_a_round_is_said_beforehand() -> None:
    # Three models of 64 bytes, each way a frame of 3 * 64 + 66 bytes at 1 kbit/s: 4.128 s in all.
    plan = planned(star_with({"rate": "1kbit"}) | {"transport": {"encryption": False}})
    in_time, late = (
        dataclasses.replace(plan, limits=dataclasses.replace(plan.limits, round=seconds))
        for seconds in (4.2, 4.0)
    )

    assert not list(shared_load.warnings(in_time))
    (sentence,) = shared_load.warnings(late)
    assert sentence == (
        "links.cloud: the transfers of a round (3 models each way) need about 4 s on cloud-wan, "
        "and limits.round is 4 s; raise it, or the rate"
    )
