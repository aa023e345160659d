"""The accuracy of a run's rounds while its models are being evaluated."""

import dataclasses
from typing import Any

import pytest

from contracts.plan import Plan
from reports.records.round_scores import LatestAccuracy, scores_by_round
from tests.support import fake_cells
from tests.support.scenario_trees import planned, star_scenario

GLOBAL = planned(star_scenario())
SOLO = planned(star_scenario(clients=2, protocol={"name": "solo", "rounds": 2, "local_epochs": 1}))
CELLS = dataclasses.replace(GLOBAL, cells=fake_cells.cells([0.7, 0.5]))
CLOUD_OF_CELLS = dataclasses.replace(GLOBAL, cells=fake_cells.cells([0.7, 0.5], cloud=True))


def line(round: int, key: str, accuracy: float | None) -> dict[str, Any]:
    by_class = None if accuracy is None else [accuracy] * 6
    return {"round": round, "key": key, "accuracy": accuracy, "loss": 1.0, "by_class": by_class}


def known_after(latest: LatestAccuracy, *lines: dict[str, Any]) -> list[bool]:
    return [latest.add(each) for each in lines]


def test_before_the_first_evaluation_nothing_is_known() -> None:
    latest = LatestAccuracy(GLOBAL)

    assert (latest.round, latest.accuracy) == (None, None)


def test_the_only_model_of_a_round_makes_its_accuracy() -> None:
    latest = LatestAccuracy(GLOBAL)

    assert known_after(latest, line(0, "global", 0.1), line(1, "global", 0.7)) == [True, True]
    assert (latest.round, latest.accuracy) == (1, 0.7)


def test_where_clients_train_alone_a_round_is_known_when_all_are_and_is_their_mean() -> None:
    latest = LatestAccuracy(SOLO)

    early = known_after(latest, line(1, "client1", 0.2), line(2, "client1", 0.9))
    assert early == [False, False]
    assert known_after(latest, line(1, "client2", 0.4)) == [True]
    assert latest.round == 1
    assert latest.accuracy == pytest.approx(0.3)


@pytest.mark.parametrize("plan", [CELLS, CLOUD_OF_CELLS])
def test_on_cells_it_is_what_the_reports_say_of_the_same_lines(plan: Plan) -> None:
    by_class = [0.1 * number for number in range(6)]
    lines = [
        fake_cells.line(1, key, [share + 0.02 * place for share in by_class])
        for place, key in enumerate((*fake_cells.KEYS, "global"))
    ]
    latest = LatestAccuracy(plan)

    for each in lines:
        latest.add(each)

    assert latest.round == 1
    assert latest.accuracy == scores_by_round(plan, lines)[1][0]
    assert latest.accuracy not in [each["accuracy"] for each in lines], "no single model's"


@pytest.mark.parametrize(
    "other",
    [
        line(2, "average", 0.9),  # not what the run is judged by
        line(2, "global", None) | {"error": "unreadable"},
        {"round": 2, "key": "dissimilarity", "xi_squared": 1.0, "g_squared": 1.0},
        line(0, "global", 0.1),  # of an earlier round
        {"round": None, "key": "global", "accuracy": None},
    ],
)
def test_other_lines_do_not_change_it(other: dict[str, Any]) -> None:
    latest = LatestAccuracy(GLOBAL)
    latest.add(line(1, "global", 0.7))

    assert not latest.add(other)
    assert (latest.round, latest.accuracy) == (1, 0.7)


def test_a_round_that_was_done_again_has_its_last_accuracy() -> None:
    latest = LatestAccuracy(GLOBAL)

    known_after(latest, line(1, "global", 0.7), line(1, "global", 0.6))

    assert latest.accuracy == 0.6
