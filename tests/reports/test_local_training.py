"""Mean local training of a client in a round, over all and by device."""

import dataclasses
from pathlib import Path

import pytest

from reports.records.events import Event, read_events
from reports.records.local_training import ALL, local_training
from tests.support.fake_run import FakeRun, star_plan


def compute(node: str, round: int, start: float, end: float) -> Event:
    return Event(node, "compute", round, start, end, None, None, {})


def test_trainings_of_a_round_add_up_and_rounds_are_averaged() -> None:
    plan = star_plan(3)
    nodes = [
        dataclasses.replace(node, device="pi") if node.name == "client2" else node
        for node in plan.nodes
    ]
    plan = dataclasses.replace(plan, nodes=tuple(nodes))
    events = [
        compute("client1", 1, 0.0, 2.0),
        compute("client1", 1, 3.0, 4.0),  # a second one in that round: 3 s
        compute("client1", 2, 5.0, 6.0),  # 1 s
        compute("client2", 1, 0.0, 8.0),
        compute("cloud", 1, 0.0, 100.0),  # a server's own
    ]

    assert local_training(events, plan) == {ALL: 4.0, "phone": 2.0, "pi": 8.0}


def test_a_run_without_training_has_no_mean(tmp_path: Path) -> None:
    assert local_training([], star_plan(1)) == {}


def test_the_records_of_a_run_give_it(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=2)

    found = local_training(read_events(tmp_path / "events.jsonl"), run.plan)

    # client1 computes 10 s, client2 16 s, client3 12 s, in every round
    assert found[ALL] == pytest.approx(38 / 3, abs=1e-6)
