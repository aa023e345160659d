"""SOLO: clients that nobody is above, and the mean over their models."""

import json
from pathlib import Path

import pytest

from contracts.errors import BadInput
from protocols import registry
from protocols.base import Package
from reports.bottleneck.critical_path import round_paths
from reports.records.evaluations import mean_scores, read_evaluations
from reports.records.events import read_events
from reports.records.fidelity import judge
from reports.records.rounds import round_rows
from scenarios import loader
from tests.support.fake_run import event
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

SOLO = {"name": "solo", "rounds": 2, "local_epochs": 4}


def test_clients_have_no_server_and_hold_their_own_rounds() -> None:
    plan = planned(star_scenario(clients=2, protocol=SOLO))

    assert plan.tops == ("client1", "client2")
    assert plan.node("client1").servers == ()
    assert plan.node("cloud").children == ()
    assert all(plan.server_across(link) is None for link in plan.links)


def test_a_client_trains_its_own_model_for_the_epochs_of_a_round() -> None:
    solo = registry.method("solo")

    [job] = solo.Client(solo.Settings(rounds=2, local_epochs=4)).jobs({"client1": Package()})

    assert (job.work.epochs, job.work.rule) == (4, "")


@pytest.mark.parametrize(
    "scenario",
    [
        tree_scenario(protocol=SOLO),
        star_scenario(protocol=SOLO, timeline=[{"at": "1s", "event": "crash", "node": "client1"}]),
    ],
    ids=["tree", "timeline"],
)
def test_what_solo_has_no_use_for_is_refused(scenario: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=r"solo's clients use no network; take a star"):
        loader.check(scenario)


def test_accuracy_is_the_mean_over_the_clients_models(tmp_path: Path) -> None:
    scores = [(0, "a", 0.1), (0, "b", 0.1), (1, "a", 0.2), (1, "b", 0.5), (2, "a", 0.9)]
    lines = [{"round": r, "key": k, "accuracy": a, "loss": 10 * a} for r, k, a in scores]
    evaluations, file = tmp_path / "evaluations.jsonl", tmp_path / "events.jsonl"
    evaluations.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rounds = [event("b", "round", n, n - 1.0, float(n)) for n in (1, 2)]
    file.write_text("".join(json.dumps(line) + "\n" for line in rounds))

    means = mean_scores(read_evaluations(evaluations), keys=("a", "b"))
    rows = round_rows(round_paths(read_events(file)), means)

    assert [row.accuracy for row in rows] == [0.1, pytest.approx(0.35), None]  # b's last is missing
    assert [row.loss for row in rows] == [1.0, pytest.approx(3.5), None]


def test_a_round_of_clients_alone_is_computing(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    found = [
        event("a", "compute", 1, 0.0, 2.0, local_round=1),
        event("b", "compute", 1, 0.0, 3.0, local_round=1),
        event("b", "round", 1, 0.0, 3.0),
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in found))

    [_, row] = round_rows(round_paths(read_events(file)), {})

    assert row.spent["compute"] == 3_000_000
    assert sum(row.spent.values()) == 3_000_000


def test_a_run_without_links_is_judged_by_its_computing() -> None:
    assert judge([], overrun_share=0.0, drops=0)["verdict"] == "exact"
    assert judge([], overrun_share=0.5, drops=0)["verdict"] == "distorted"
