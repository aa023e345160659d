"""Runs on cells by rho: comparison-rho, and a comparison at one rho."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colors, image

from cli import commands, compare
from cli.sweep import runs
from cli.sweep.command import sweep
from contracts.errors import BadInput
from reports.comparison.groups import Comparison, compare_runs
from reports.comparison.metrics import FINAL, TIME
from reports.comparison.rho import (
    LAST_ROUND,
    MEAN_OF_LAST_ROUNDS,
    cell_points,
    curves_by_rho,
    rho_csv,
    with_accuracy_at_rho,
)
from reports.comparison.runs import read_runs
from reports.figures.rho import draw_rho
from reports.records.cells import CellScores, write_cells
from reports.records.run_records import RunRecords
from tests.support.compared_runs import scenario, spread_of, write_run
from tests.support.fake_cells import EDGES, cells, line, write_lines
from tests.support.sweep_stand_ins import Programs

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
RHO = (0.7, 0.6, 1.0)


def _cell_run(
    directory: Path,
    variant: str = "a",
    seed: int = 1,
    rounds: int = 6,
    gain: float = 0.1,
    rho: tuple[float, ...] = RHO,
) -> Path:
    """Of edge number i, accuracy is `gain` times round and rho, and i hundredths more."""
    rows = [
        (number, edge, share, gain * number * share + place / 100)
        for number in range(rounds + 1)
        for place, edge in enumerate(EDGES)
        for share in rho
    ]
    lines = ["round,elapsed_seconds,key,rho,accuracy"]
    lines += [f"{n},{100.0 * n:.6f},{key},{share},{score:.6f}" for n, key, share, score in rows]
    lines.append(f"{rounds},{100.0 * rounds:.6f},average,{rho[0]},0.999000")
    first = [gain * number * rho[0] + 0.01 for number in range(rounds + 1)]
    last = {str(share): gain * rounds * share + 0.01 for share in rho}
    tree = scenario("cells", variant=variant, seed=seed, task__target_accuracy=0.3)
    run = write_run(directory, tree, first, accuracy_by_rho=last)
    (run / "cells.csv").write_text("\n".join(lines) + "\n")
    return run


def _compared(place: Path, rho: float | None = None) -> Comparison:
    runs, left_out = read_runs([str(place)])
    return compare_runs(runs if rho is None else with_accuracy_at_rho(runs, rho), left_out)


# cells.csv read back


@pytest.mark.parametrize("cloud", [False, True])
def test_points_are_what_the_run_itself_said(tmp_path: Path, cloud: bool) -> None:
    keys = ("global",) if cloud else (*EDGES, "average")
    lines = [
        line(number, key, [0.01 * (number + place + c) for c in range(6)])
        for number in range(3)
        for place, key in enumerate(keys)
    ]
    write_lines(tmp_path / "evaluations.jsonl", lines)
    scores = CellScores(cells([0.6, 1.0], cloud), RunRecords(tmp_path).evaluations)
    write_cells(tmp_path / "cells.csv", scores, {n: 2_000_000 * n for n in range(3)})

    points = cell_points(RunRecords(tmp_path).written_cells)

    assert list(points) == [0.6, 1.0]
    for rho, found in points.items():
        assert [(p.round, p.seconds) for p in found] == [(0, 0.0), (1, 2.0), (2, 4.0)]
        own = [scores.of_run(point.round, rho) for point in found]
        assert [point.accuracy for point in found] == pytest.approx(own, abs=2e-6)


def test_a_round_without_one_of_the_edges_is_left_out(tmp_path: Path) -> None:
    run = _cell_run(tmp_path / "run", rounds=2)
    text = (run / "cells.csv").read_text()
    (run / "cells.csv").write_text(
        "".join(x for x in text.splitlines(True) if "1,100.000000,edge2,0.6" not in x)
    )

    points = cell_points(RunRecords(run).written_cells)

    assert [point.round for point in points[0.6]] == [0, 2]
    assert [point.round for point in points[0.7]] == [0, 1, 2]


# Final accuracy against rho


def test_final_accuracy_is_the_mean_of_the_last_five_rounds_with_its_spread(tmp_path: Path) -> None:
    _cell_run(tmp_path / "1", seed=1, gain=0.05, rounds=10)
    _cell_run(tmp_path / "2", seed=2, gain=0.06, rounds=10)

    curves = curves_by_rho(_compared(tmp_path))

    assert curves is not None
    assert curves.measure == MEAN_OF_LAST_ROUNDS
    rows = list(csv.DictReader(io.StringIO(rho_csv(curves))))
    assert [row["rho"] for row in rows] == ["0.6", "0.7", "1.0"]
    # of rounds 6 to 10 the middle one counts
    assert float(rows[0]["final_accuracy_least"]) == pytest.approx(0.05 * 8 * 0.6 + 0.01)
    assert float(rows[0]["final_accuracy_most"]) == pytest.approx(0.06 * 8 * 0.6 + 0.01)
    assert rows[0]["seeds"] == "1 2"
    assert rows[0]["measure"] == "mean of the last 5 rounds"


@pytest.mark.parametrize("why", ["too few rounds", "no cells.csv", "another file"])
def test_where_one_run_lacks_ten_rounds_the_last_counts_for_all(tmp_path: Path, why: str) -> None:
    _cell_run(tmp_path / "1", rounds=10, gain=0.05)
    few = why == "too few rounds"
    other = _cell_run(tmp_path / "2", "b", rounds=9 if few else 10, gain=0.05)
    if why == "no cells.csv":
        (other / "cells.csv").unlink()
    elif why == "another file":
        (other / "cells.csv").write_text("round,key\n1,edge1\n")

    curves = curves_by_rho(_compared(tmp_path))

    assert curves is not None
    assert curves.measure == LAST_ROUND
    (a, b) = curves.sections["cells"]
    assert a.at[1.0].mean == pytest.approx(0.51)
    assert b.at[1.0].mean == pytest.approx(0.46 if few else 0.51)


def test_every_group_on_cells_is_drawn_in_the_colour_it_has_elsewhere(tmp_path: Path) -> None:
    for seed in (1, 2):
        _cell_run(tmp_path / f"a{seed}", "a", seed, gain=0.1 + 0.01 * seed)
        _cell_run(tmp_path / f"c{seed}", "c", seed, gain=0.05)
    write_run(tmp_path / "b", scenario("cells", variant="b"))

    curves = curves_by_rho(_compared(tmp_path))
    assert curves is not None
    draw_rho(tmp_path / "rho.png", curves)

    picture = image.imread(tmp_path / "rho.png")[:, :, :3]
    found = {c: int(_is(picture, c).sum()) for c in (BLUE, ORANGE, GREEN)}
    assert found[BLUE] > 1000
    assert found[GREEN] > 1000
    assert found[ORANGE] == 0
    assert curves.notes == ("not on cells, so not in comparison-rho.png: b",)
    for edge in (picture[:, :5], picture[:, -5:], picture[:5], picture[-5:]):
        assert edge.min() == 1.0


def _is(picture: np.ndarray, colour: str) -> np.ndarray:
    found: np.ndarray = np.abs(picture - colors.to_rgb(colour)).max(axis=2) < 0.02
    return found


def test_the_command_writes_them_for_runs_on_cells_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _cell_run(tmp_path / "cells" / "a", rho=(0.7,))
    write_run(tmp_path / "plain" / "b")

    for name, written in (("cells", True), ("plain", False)):
        assert commands.main(["compare", str(tmp_path / name)]) == 0
        assert ("comparison-rho.png" in capsys.readouterr().out) is written
        for suffix in ("png", "csv"):
            assert (tmp_path / name / f"comparison-rho.{suffix}").exists() is written


# Compared at one rho


def test_accuracies_and_times_are_taken_at_the_rho_that_is_asked_for(tmp_path: Path) -> None:
    _cell_run(tmp_path / "run")

    (first,) = _compared(tmp_path).groups
    (baseline_name,) = _compared(tmp_path, 1.0).groups

    assert spread_of(first, FINAL).mean == pytest.approx(0.43)
    assert spread_of(baseline_name, FINAL).mean == pytest.approx(0.61)
    assert spread_of(first, TIME).mean == 500.0
    assert spread_of(baseline_name, TIME).mean == 300.0


def test_runs_that_are_not_on_cells_stay_as_they_are(tmp_path: Path) -> None:
    _cell_run(tmp_path / "a")
    write_run(tmp_path / "b", scenario("cells", variant="b"))

    _, other = _compared(tmp_path, 0.6).groups

    assert spread_of(other, FINAL).mean == pytest.approx(0.81)


def test_the_tables_say_at_which_rho(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _cell_run(tmp_path / "run")

    commands.main(["compare", str(tmp_path), "--rho", "0.6"])

    assert "cells: to 30 % at ρ = 0.6" in capsys.readouterr().out
    assert "cells: to 30 % at ρ = 0.6" in (tmp_path / "comparison.md").read_text()


def test_accuracies_at_different_rho_are_warned_of(tmp_path: Path) -> None:
    _cell_run(tmp_path / "a")
    _cell_run(tmp_path / "b", "b", rho=(0.5,))

    assert _compared(tmp_path).warnings == (
        "accuracies stand side by side at ρ = 0.5 and 0.7; see --rho",
    )


def test_a_rho_that_a_run_has_not_is_refused(tmp_path: Path) -> None:
    _cell_run(tmp_path / "run")

    with pytest.raises(BadInput, match=r"--rho 0.65: .*run was evaluated at 0.6, 0.7, 1; take"):
        _compared(tmp_path, 0.65)


def test_a_rho_for_runs_without_cells_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run")

    with pytest.raises(BadInput, match=r"--rho 0.6: none of the runs is on cells; leave it out"):
        _compared(tmp_path, 0.6)


@pytest.mark.parametrize(("text", "cause"), [(None, "cannot be read"), ("x\n1\n", "is not what")])
def test_a_run_without_a_good_cells_csv_is_refused_by_name(
    tmp_path: Path, text: str | None, cause: str
) -> None:
    run = _cell_run(tmp_path / "run")
    (run / "cells.csv").unlink()
    if text is not None:
        (run / "cells.csv").write_text(text)

    with pytest.raises(BadInput, match=rf"--rho 0.6: .*run/cells.csv {cause}"):
        _compared(tmp_path, 0.6)


@pytest.mark.parametrize(
    ("scenario_name", "sentence"),
    [
        ("multicell-fashionmnist", r'rho: 0.65: "multicell-.*" is evaluated at 0.7, .*; take one'),
        ("two-layers", "rho: 0.65: none of the runs is on cells; leave it out"),
    ],
)
def test_a_sweep_at_a_rho_that_no_run_will_have_is_refused_before_the_runs(
    tmp_path: Path, scenario_name: str, sentence: str
) -> None:
    file = tmp_path / "table.toml"
    file.write_text(f'name = "table"\nrho = 0.65\n[[runs]]\nscenario = "{scenario_name}"\n')
    programs = Programs()

    with pytest.raises(BadInput, match=sentence):
        sweep(str(file), None, None, [], 1, str(tmp_path / "out"), None, command=programs)

    assert programs.started == []
    assert not (tmp_path / "out").exists()


def test_a_sweep_compares_at_its_rho(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    def remember(*_: Any, **more: Any) -> int:
        told.update(more)
        return 0

    monkeypatch.setattr(compare, "compare", remember)
    monkeypatch.setattr(runs, "_POLL_SECONDS", 0.01)
    file = tmp_path / "table.toml"
    file.write_text(
        'name = "table"\nrho = 0.6\n'
        '[[runs]]\nscenario = "multicell-fashionmnist"\nvariants = ["es-fl"]\n'
    )

    sweep(str(file), None, None, [], 1, str(tmp_path / "out"), None, command=Programs())

    assert told["rho"] == 0.6
