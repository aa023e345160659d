"""The section [availability]: what the plan makes of it, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from contracts.availability import OnOff
from contracts.errors import BadInput
from contracts.plan import Plan
from scenarios import loader
from tests.support.scenario_trees import planned, star_scenario, tree_scenario


def with_file(folder: Path, text: str) -> dict[str, Any]:
    file = folder / "there.csv"
    file.write_text(text)
    return star_scenario(availability={"trace": str(file)})


def refusal_of(tree: dict[str, Any]) -> str:
    with pytest.raises(BadInput) as caught:
        loader.check(tree)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_by_default_as_many_are_there_at_first_as_later() -> None:
    plan = planned(tree_scenario(seed=5, availability={"on": "1min", "off": "20s"}))

    assert plan.availability is not None
    assert plan.availability.process == OnOff(on=60.0, off=20.0, first=0.75, seed=5)
    assert plan.moves


def test_a_share_at_first_may_be_given() -> None:
    plan = planned(star_scenario(availability={"on": 60, "off": 20, "first": "10%"}))

    assert plan.availability is not None and plan.availability.process is not None
    assert plan.availability.process.first == 0.1


def test_rows_of_a_file_may_stand_in_any_order_and_two_that_meet_are_one(tmp_path: Path) -> None:
    text = (
        "# measured\nclient,from,until\nclient2, 30, \nclient1,10s,20s\nclient1,0,10\nclient2,1,2\n"
    )

    plan = planned(with_file(tmp_path, text))

    assert plan.availability is not None
    assert plan.availability.times == {"client2": ((1, 2), (30, None)), "client1": ((0, 20),)}


def test_a_plan_with_availability_is_read_back_as_it_was(tmp_path: Path) -> None:
    for tree in (
        star_scenario(availability={"on": 60, "off": 20}),
        with_file(tmp_path, "client1,0,5\nclient1,7,\n"),
    ):
        plan = planned(tree)
        assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("client1,5,5\n", "line 1: until 5 is not after from 5; give a later time"),
        ("\nclient1,5s,4s\n", "line 2: until 4s is not after from 5s; give a later time"),
        (
            "client,from,until\nclient4,0,5\n",
            'line 2: there is no "client4"; the clients are client1 to client3',
        ),
        (
            "client1,4,\nclient1,0,5\n",
            "line 1: client1 is there already at that time; give rows that do not overlap",
        ),
        (
            "client1,0,\nclient1,5,6\n",
            "line 2: client1 is there already at that time; give rows that do not overlap",
        ),
        ("client1,0\n", "line 1: has 2 fields; give client, from and until"),
        ("client1,soon,9\n", 'line 1: "soon" is not understood; write it like "10ms"'),
        ("client1,-1,9\n", "line 1: -1.0 is not a time; it must be finite and not negative"),
        ("client1,0,inf\n", "line 1: inf is not a time; it must be finite and not negative"),
        ("client,from,until\n", "there.csv: has no rows; give lines like client1, 0, 60"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path: Path, text: str, end: str) -> None:
    assert refusal_of(with_file(tmp_path, text)).endswith(end)


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ({"on": "60s"}, "availability: give the mean times on and off, both, or a trace"),
        ({}, "availability: give the mean times on and off, both, or a trace"),
        ({"on": "0s", "off": "1s"}, 'availability.on: "0s" leaves no time to wait; '),
        ({"on": "1s", "off": "1ms"}, "availability: on and off are too short; give at least 0.1s"),
        ({"on": "1s", "off": -3}, "availability.off: -3.0 is not a time; "),
        ({"on": "1s", "off": "1s", "first": 2}, 'availability.first: "2.0" is not a share; '),
        ({"trace": "x.csv", "on": "1s"}, "availability: a trace has the times; take out either "),
        ({"trace": "x.csv"}, 'availability.trace: there is no file "x.csv"; name one of rows '),
        ({"of": "1s"}, 'availability.of: unknown key; did you mean "off"?'),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(section: dict[str, Any], sentence: str) -> None:
    assert refusal_of(star_scenario(availability=section)).startswith(sentence)


def test_clients_without_a_network_and_with_shared_devices_are_always_there() -> None:
    there = {"on": "60s", "off": "20s"}
    alone = star_scenario(availability=there, protocol={"name": "solo", "rounds": 2})
    assert "neither [[timeline]] nor [availability]" in refusal_of(alone)
    shared = {"client": {"profile": "phone", "shared_by": 2}, "cloud": "droplet-1gb"}
    assert "devices of their own; leave it out" in refusal_of(
        star_scenario(availability=there, devices=shared)
    )
