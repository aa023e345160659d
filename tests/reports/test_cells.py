"""A run on cells: accuracy by rho worked out by hand, and what its files say."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from reports.finish import finish
from reports.records.cells import CellScores, accuracy_at
from reports.records.evaluations import read_evaluations
from tests.reports.test_summary import FACTS
from tests.support.fake_cells import EDGES, cells, line, write_lines, write_run
from tests.support.fake_run import FakeRun

RHO = [0.6, 1.0]
# At rho 0.6 each edge: 0.6 * mean of its main classes + 0.4 * mean of the four others.
ROUND_1: list[dict[str, Any]] = [
    line(1, "edge1", [0.9, 0.7, 0.1, 0.2, 0.3, 0.4], 1.0),  # 0.6 * 0.8 + 0.4 * 0.25 = 0.58
    line(1, "edge2", [0.0, 0.0, 0.5, 0.7, 0.0, 0.4], 2.0),  # 0.6 * 0.6 + 0.4 * 0.1 = 0.4
    line(1, "edge3", [0.5, 0.5, 0.5, 0.5, 1.0, 0.4], 6.0),  # 0.6 * 0.7 + 0.4 * 0.5 = 0.62
    line(1, "average", [0.6, 0.6, 0.3, 0.3, 0.0, 0.0]),  # over all cells: the mean, 0.3
]
ROUND_0 = [line(0, key, [0.6, 0.0, 0.0, 0.0, 0.0, 0.0]) for key in (*EDGES, "average")]


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time, and test_cells_figure.py does it."""
    for name in ("draw_accuracy", "draw_cells"):
        monkeypatch.setattr(f"reports.finish.{name}", lambda *_: None)


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _accuracies(directory: Path) -> list[str]:
    return [row["accuracy"] for row in _table(directory / "rounds.csv")]


@pytest.mark.parametrize(
    ("by_class", "rho", "expected"),
    [
        ([0.8, 0.4, 0.1, 0.3], 0.6, 0.6 * 0.6 + 0.4 * 0.2),
        ([0.8, 0.4, 0.1, 0.3], 0.5, 0.4),
        ([0.8, 0.4, 0.1, 0.3], 1.0, 0.6),
        ([0.8, 0.4, 0.1, 0.3], 0.0, 0.2),
        ([0.8, 0.4], 0.6, 0.6),  # there are no other classes
        ([0.8, None, 0.1, None], 0.6, 0.6 * 0.8 + 0.4 * 0.1),
        ([0.8, 0.4, None, None], 0.6, 0.6),
        ([None, None, 0.1, 0.3], 0.6, None),
        ([None, None, 0.1, 0.3], 0.0, 0.2),
        ([], 0.6, None),
    ],
)
def test_accuracy_at_rho_is_that_share_of_the_main_classes_mean(
    by_class: list[float | None], rho: float, expected: float | None
) -> None:
    assert accuracy_at(by_class, {0, 1}, rho) == (expected and pytest.approx(expected))


def test_a_model_of_no_cell_is_tested_in_every_cell(tmp_path: Path) -> None:
    path = tmp_path / "evaluations.jsonl"
    write_lines(path, [line(1, "average", [1.0, 1.0, 0.0, 0.0, 0.0, None])])
    scores = CellScores(cells([0.75]), read_evaluations(path))

    # 0.75 * 1 + 0.25 * 0; then twice the first cell's classes among the others: 2 / 3 and 2 / 4
    expected = (0.75 + 0.25 * 2 / 3 + 0.25 * 2 / 4) / 3
    assert scores.accuracy(1, "average", 0.75) == pytest.approx(expected)
    assert scores.accuracy(2, "average", 0.75) is None


def test_the_runs_accuracy_is_the_mean_over_the_edges_at_the_first_rho(tmp_path: Path) -> None:
    write_run(tmp_path, ROUND_0 + ROUND_1, RHO)

    summary = finish(tmp_path, FACTS)

    row = _table(tmp_path / "rounds.csv")[1]
    # round 0: edge1 gets 0.6 * 0.3, the two others 0.4 * 0.15
    assert _accuracies(tmp_path) == ["0.100000", "0.533333"]
    assert (row["elapsed_seconds"], row["loss"]) == ("10.000000", "3.000000")
    assert summary.final_accuracy == pytest.approx((0.58 + 0.4 + 0.62) / 3)


def test_the_summary_has_the_final_accuracy_at_every_rho(tmp_path: Path) -> None:
    write_run(tmp_path, ROUND_0 + ROUND_1, RHO)

    finish(tmp_path, FACTS)

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["accuracy_by_rho"] == pytest.approx({"0.6": 1.6 / 3, "1.0": 0.7})
    assert summary["average_model_by_rho"] == pytest.approx({"0.6": 0.3, "1.0": 0.3})
    assert summary["accuracy_by_rho"]["0.6"] == summary["final_accuracy"]


def test_cells_csv_has_a_line_for_every_round_model_and_rho(tmp_path: Path) -> None:
    write_run(tmp_path, ROUND_0 + ROUND_1, RHO)

    finish(tmp_path, FACTS)

    assert (tmp_path / "cells.csv").read_text().splitlines()[0] == (
        "round,elapsed_seconds,key,rho,accuracy"
    )
    rows = [tuple(row.values()) for row in _table(tmp_path / "cells.csv")]
    assert len(rows) == 2 * 4 * 2
    assert rows[8:] == [
        ("1", "10.000000", "edge1", "0.6", "0.580000"),
        ("1", "10.000000", "edge1", "1.0", "0.800000"),
        ("1", "10.000000", "edge2", "0.6", "0.400000"),
        ("1", "10.000000", "edge2", "1.0", "0.600000"),
        ("1", "10.000000", "edge3", "0.6", "0.620000"),
        ("1", "10.000000", "edge3", "1.0", "0.700000"),
        ("1", "10.000000", "average", "0.6", "0.300000"),
        ("1", "10.000000", "average", "1.0", "0.300000"),
    ]


def test_a_round_without_one_edges_evaluation_has_no_accuracy(tmp_path: Path) -> None:
    write_run(tmp_path, ROUND_0 + ROUND_1[:1] + ROUND_1[2:3], RHO)

    summary = finish(tmp_path, FACTS)

    assert _accuracies(tmp_path) == ["0.100000", ""]
    assert summary.final_accuracy == pytest.approx(0.1)
    assert summary.accuracy_by_rho == pytest.approx({"0.6": 0.1, "1.0": 0.1})
    keys = [row["key"] for row in _table(tmp_path / "cells.csv") if row["round"] == "1"]
    assert keys == ["edge1", "edge1", "edge3", "edge3"]


@pytest.mark.parametrize("bad", [None, "?", {}, [None] * 6, ["a"] * 6])
def test_a_model_that_could_not_be_evaluated_counts_as_missing(tmp_path: Path, bad: Any) -> None:
    write_run(tmp_path, [*ROUND_0, *ROUND_1[1:], ROUND_1[0] | {"by_class": bad}], RHO)

    finish(tmp_path, FACTS)

    assert _accuracies(tmp_path)[1] == ""


def test_evaluations_of_a_round_that_never_ended_do_not_count(tmp_path: Path) -> None:
    write_run(tmp_path, ROUND_0 + ROUND_1, RHO, rounds=0)

    summary = finish(tmp_path, FACTS)

    assert summary.accuracy_by_rho == pytest.approx({"0.6": 0.1, "1.0": 0.1})
    assert {row["round"] for row in _table(tmp_path / "cells.csv")} == {"0"}


def test_with_a_cloud_the_global_model_is_tested_in_every_cell(tmp_path: Path) -> None:
    whole = [line(1, "global", [0.9, 0.7, 0.5, 0.5, 0.1, 0.3], 4.0)]
    write_run(tmp_path, whole, [0.7, 0.9], cloud=True)

    summary = finish(tmp_path, FACTS)

    # 0.7 * (0.8, 0.5, 0.2) + 0.3 * (0.35, 0.5, 0.65), whose mean is that of all classes
    assert _accuracies(tmp_path) == ["", "0.500000"]
    assert summary.accuracy_by_rho == pytest.approx({"0.7": 0.5, "0.9": 0.5})
    assert summary.average_model_by_rho == {}
    assert {row["key"] for row in _table(tmp_path / "cells.csv")} == {"global"}


def test_a_run_that_left_no_evaluation_has_an_empty_table(tmp_path: Path) -> None:
    write_run(tmp_path, [], RHO, rounds=0)

    summary = finish(tmp_path, FACTS)

    assert len((tmp_path / "cells.csv").read_text().splitlines()) == 1
    assert summary.accuracy_by_rho == {}


def test_a_run_without_cells_has_no_table_and_nothing_by_rho(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    summary = finish(tmp_path, FACTS)

    assert not (tmp_path / "cells.csv").exists()
    assert summary.accuracy_by_rho == summary.average_model_by_rho == {}
