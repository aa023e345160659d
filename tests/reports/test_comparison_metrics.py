"""A metric is one row: adding one makes it appear wherever runs are compared."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from reports.comparison import metrics
from reports.comparison.csv_table import comparison_csv
from reports.comparison.groups import Comparison, compare_runs
from reports.comparison.metrics import ALL_STATISTICS, METRICS, Kind, Metric, SpeedUp, Visibility
from reports.comparison.over_settings import compare_over_settings
from reports.comparison.over_settings_table import over_csv
from reports.comparison.runs import Run, read_runs
from reports.comparison.table import markdown, show
from tests.support.compared_runs import scenario, write_run

ENERGY = Metric(
    "energy",
    lambda run, _: run.figures.get("energy_joules"),
    Kind.COUNT,
    csv="energy_joules",
    csv_statistics=("mean", "most"),
    header="energy\nin joules",
    grid_place=4,
)


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    """Two variants, on two learning rates each, which needed 10, 20, 30 and 40 joules."""
    joules = 0
    for variant in ("avg", "prox"):
        for rate in (0.1, 0.2):
            joules += 10
            tree = scenario(variant=variant, task__learning_rate=rate)
            write_run(tmp_path / f"{variant}{rate}", tree, energy_joules=joules)
    found, _ = read_runs([str(tmp_path)])
    return found


def _add(monkeypatch: pytest.MonkeyPatch, *rows: Metric | SpeedUp) -> None:
    monkeypatch.setattr(metrics, "METRICS", (*METRICS, *rows))


def _shown(comparison: Comparison, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(comparison, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_without_its_row_a_metric_is_nowhere(runs: list[Run]) -> None:
    comparison = compare_runs(runs)

    for text in (_shown(comparison), markdown(comparison), comparison_csv(comparison)):
        assert "joules" not in text


def test_a_new_row_appears_in_the_table(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    _add(monkeypatch, ENERGY)

    shown = _shown(compare_runs(runs), 120)

    assert "in joules" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("prox") and "0.2" in line]
    assert line.split()[-2:] == ["40.0", "exact"]


def test_a_new_row_appears_in_markdown_before_the_verdict(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(monkeypatch, ENERGY)

    text = markdown(compare_runs(runs))

    assert "| energy in joules | fidelity |" in text
    assert "| 30.0 | exact |" in text


def test_a_new_row_appears_in_the_csv_with_the_parts_it_names(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(monkeypatch, ENERGY)

    rows = _rows(comparison_csv(compare_runs(runs)))

    assert [row["energy_joules_mean"] for row in rows] == ["10.0", "20.0", "30.0", "40.0"]
    assert [row["energy_joules_most"] for row in rows] == ["10.0", "20.0", "30.0", "40.0"]
    assert "energy_joules_least" not in rows[0]


def test_a_new_row_with_a_place_appears_over_a_setting(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(monkeypatch, ENERGY)

    rows = _rows(over_csv(compare_over_settings(runs, ["task.learning_rate"])))

    assert list(rows[0])[-4:] == [f"energy_joules_{part}" for part in ALL_STATISTICS]
    assert rows[-1]["energy_joules_mean"] == "40.0"


def test_a_new_row_can_be_compared_with_the_baseline(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(monkeypatch, ENERGY, SpeedUp(ENERGY, "energy_ratio", "in\nenergy", Visibility()))
    of_one_rate = [run for run in runs if run.identity["task.learning_rate"] == "0.1"]

    comparison = compare_runs(of_one_rate, baseline="avg")

    assert "| in energy |" in markdown(comparison)
    assert "0.33 x" in _shown(comparison)
    assert [row["energy_ratio"] for row in _rows(comparison_csv(comparison))] == ["1.0", "0.333333"]


@pytest.mark.parametrize(
    ("shown", "width", "there"),
    [
        (Visibility(from_width=120), 119, False),
        (Visibility(from_width=120), 120, True),
        (Visibility(only_with_target=True), 100, True),
        (Visibility(only_where_known=True), 100, True),
    ],
)
def test_a_row_says_when_the_terminal_shows_it(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch, shown: Visibility, width: int, there: bool
) -> None:
    row = Metric("energy", ENERGY.value_of, Kind.COUNT, csv="energy", header="joules", shown=shown)
    _add(monkeypatch, row)

    assert ("joules" in _shown(compare_runs(runs), width)) is there


def test_a_row_that_no_run_has_is_left_out_if_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run")
    found, _ = read_runs([str(tmp_path)])
    known = Visibility(only_where_known=True)
    _add(
        monkeypatch, Metric("e", ENERGY.value_of, Kind.COUNT, csv="e", header="joules", shown=known)
    )

    assert "joules" not in markdown(compare_runs(found))


def test_only_numbers_of_the_summary_are_figures(tmp_path: Path) -> None:
    write_run(tmp_path / "run", energy_joules=3, good=True, words="x", nothing=None)

    (run,), _ = read_runs([str(tmp_path)])

    assert run.figures["energy_joules"] == 3.0
    assert not {"good", "words", "nothing"} & run.figures.keys()
