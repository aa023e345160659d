"""The keys that the launcher makes for a run, and what updates may claim."""

import dataclasses
from pathlib import Path

import pytest

from contracts.control import Keys, decode, encode
from contracts.spool import Spool
from nodes.launch.run_keys import RunKeys, take_secret
from nodes.serving.claims import Claims
from protocols.wire import Refused
from tests.support.scenario_trees import planned, star_scenario, tree_scenario


def keys_of(*names: str, secret: bytes = b"one") -> list[Keys]:
    keys = RunKeys(planned(tree_scenario()), bytearray(secret))
    return [keys.of(name) for name in names]


def test_a_node_is_told_its_own_secret_and_the_public_keys_of_its_neighbours() -> None:
    client, edge, cloud = keys_of("client1", "inst1", "cloud")

    assert client.servers == {"inst1": edge.public} and not client.children
    assert edge.servers == {"cloud": cloud.public}
    assert edge.children["client1"] == client.public
    assert cloud.children["inst1"] == edge.public and "client1" not in cloud.children
    assert len({client.secret, edge.secret, cloud.secret}) == 3
    assert client.secret not in str(edge) and client.secret not in repr(client)


def test_a_node_gets_the_same_keys_in_each_life_and_others_in_each_run() -> None:
    [first], [again] = keys_of("client1"), keys_of("client1")
    [other] = keys_of("client1", secret=b"another")

    assert first == again
    assert {first.public, first.secret}.isdisjoint({other.public, other.secret})


def test_a_client_that_may_come_later_is_known_to_the_server_beforehand() -> None:
    handover = {"at": "5s", "event": "handover", "client": "client1", "to": [2]}
    topology = {"kind": "cells", "cells": 2, "alone": 2, "overlap": 1, "cloud": True}
    plan = planned(tree_scenario(topology=topology, timeline=[handover]))
    keys = RunKeys(plan, bytearray(b"one"))

    assert "client1" in keys.of("edge2").children
    assert keys.of("client1").servers["edge2"] == keys.of("edge2").public


def test_a_process_that_forgets_the_secret_can_make_nobodys_keys() -> None:
    keys = RunKeys(planned(tree_scenario()), bytearray(b"one"))
    before = keys.of("client1")

    keys.forget()

    assert keys.of("client1").secret != before.secret


def test_keys_go_over_a_control_line_as_they_are() -> None:
    [keys] = keys_of("inst1")

    assert decode(encode(keys)) == keys


def test_the_secret_is_taken_out_of_the_spool_and_made_where_there_is_none(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.secret.write_bytes(b"left by the runner")

    assert take_secret(spool) == b"left by the runner"
    assert not spool.secret.exists()
    assert len(take_secret(spool)) == 32
    assert take_secret(spool) != take_secret(spool)


# Claims: clients have 10, 11, ... samples.


@pytest.mark.parametrize(("claimed", "shared"), [(10, 0), (13, 3)])
def test_a_client_may_claim_what_it_has_and_what_was_shared(claimed: int, shared: int) -> None:
    Claims(planned(star_scenario(clients=2))).check("client1", {"samples": claimed}, shared)


@pytest.mark.parametrize("claimed", [-1, 0, 9, 11, 10**30])
def test_a_client_may_claim_nothing_else(claimed: int) -> None:
    with pytest.raises(Refused, match="the plan says 10 to 10") as refusal:
        Claims(planned(star_scenario(clients=2))).check("client1", {"samples": claimed}, 0)
    assert refusal.value.reason == "claim"


def test_an_institution_may_claim_at_most_all_clients_below_it() -> None:
    plan = planned(tree_scenario())
    children = plan.node("inst2").children
    most = sum(plan.node(name).samples for name in children)

    for claimed in (0, most):
        Claims(plan).check("inst2", {"samples": claimed}, 0)
    for claimed in (-1, most + 1):
        with pytest.raises(Refused, match=f"the plan says 0 to {most}"):
            Claims(plan).check("inst2", {"samples": claimed}, 0)


def test_an_edge_may_claim_clients_that_came_to_it() -> None:
    plan = planned(tree_scenario())
    address = plan.node("client1").parent_address
    assert address is not None
    guest = dataclasses.replace(plan.node("client1"), visits=(("inst2", address),))
    nodes = tuple(guest if node.name == guest.name else node for node in plan.nodes)
    most = sum(plan.node(name).samples for name in (*plan.node("inst2").children, "client1"))

    Claims(dataclasses.replace(plan, nodes=nodes)).check("inst2", {"samples": most}, 0)


def test_an_update_without_a_count_is_left_to_the_method() -> None:
    Claims(planned(star_scenario(clients=2))).check("client1", {}, 0)
