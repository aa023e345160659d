"""`import metronome`: runs as objects, their records as columns, and what a notebook shows."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import metronome
from cli.from_python import child
from contracts.project import ROOT
from reports import columns
from tests.support.compared_runs import scenario, write_run
from tests.support.fake_run import FakeRun

PNG = b"\x89PNG"


@pytest.fixture
def run(tmp_path: Path) -> metronome.Run:
    fake = FakeRun(tmp_path / "run", rounds=2)
    summary = {"name": "fake", "seed": 1, "final_accuracy": 0.5, "fidelity": {"verdict": "exact"}}
    (fake.directory / "summary.json").write_text(json.dumps(summary))
    (fake.directory / "rounds.csv").write_text(
        "round,elapsed_seconds,accuracy,loss,download,compute,upload,wait,aggregate\n"
        "0,0.0,0.1,2.3,,,,,\n1,3.5,0.25,,1,2,0.5,0,0\n"
    )
    (fake.directory / "accuracy.png").write_bytes(PNG)
    return metronome.load(fake.directory)


def _plain(table: object) -> columns.Columns:
    """Return columns as lists, whether pandas is there or not."""
    if isinstance(table, dict):
        return table
    found: columns.Columns = table.to_dict("list")  # type: ignore[attr-defined]
    return found


def test_records_are_columns(run: metronome.Run) -> None:
    rounds = _plain(run.rounds)
    assert rounds["round"] == [0, 1] and rounds["elapsed_seconds"] == [0.0, 3.5]
    assert rounds["accuracy"] == [0.1, 0.25]
    assert set(_plain(run.events)) >= {"node", "phase", "round", "start", "end"}
    assert len(_plain(run.links)["link"]) > 0
    assert run.summary["final_accuracy"] == 0.5


@pytest.mark.skipif(bool(importlib.util.find_spec("pandas")), reason="pandas is installed here")
def test_without_pandas_columns_are_lists_and_an_empty_cell_is_none(run: metronome.Run) -> None:
    assert run.rounds["loss"] == [2.3, None]
    assert isinstance(run.rounds, dict)


def test_with_pandas_columns_are_a_data_frame(run: metronome.Run) -> None:
    pandas = pytest.importorskip("pandas")
    assert isinstance(run.rounds, pandas.DataFrame)


def test_a_notebook_shows_a_run_and_its_figures(run: metronome.Run) -> None:
    assert run.figures == ["accuracy"] and run.figure()._repr_png_() == PNG
    shown = run._repr_html_()
    assert "<td>final_accuracy</td><td>0.5</td>" in shown and "exact" in shown
    assert "final_accuracy=0.5" in repr(run)
    with pytest.raises(metronome.BadInput, match='figure "nothing": there are accuracy'):
        run.figure("nothing")


def test_a_directory_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(metronome.BadInput, match="holds no run"):
        metronome.load(tmp_path)


def test_runs_are_compared_in_a_table_and_a_figure(tmp_path: Path) -> None:
    write_run(tmp_path / "a", scenario(variant="a"))
    write_run(tmp_path / "b", scenario(variant="b"))

    found = metronome.compare(tmp_path / "a", metronome.load(tmp_path / "b"), target=0.5)

    assert _plain(found.table)["variant"] == ["a", "b"]
    assert found._repr_html_().count("<tr>") == 3
    assert found.draw(tmp_path / "both.png")._repr_png_().startswith(PNG)


def test_a_mistake_is_the_commands_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(metronome.BadInput, match=r'^links\.edge-cloud: unknown profile "5gg"; did'):
        metronome.run(links={"edge-cloud": "5gg"}, quiet=True)
    assert capsys.readouterr().out == ""


def test_every_argument_reaches_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[list[str]] = []
    monkeypatch.setattr(metronome, "command", lambda words, _quiet: said.append(list(words)))
    FakeRun(tmp_path / "run", rounds=1)
    metronome.run(
        "quickstart",
        links={"edge-cloud": "3g"},
        set={"protocol.rounds": 2, "task.model": "tiny-mlp", "task.shuffle": False},
        variant="v",
        clock="wall",
        seed=7,
        plugins=["mine.py", Path("other.py")],
        out=tmp_path / "run",
        fresh=True,
    )

    assert said == [
        [
            *("run", "quickstart", "--out", str(tmp_path / "run"), "--links", "edge-cloud=3g"),
            *("--set", "protocol.rounds=2", "--set", 'task.model="tiny-mlp"'),
            *("--set", "task.shuffle=false", "--variant", "v", "--clock", "wall", "--seed", "7"),
            *("--plugin", "mine.py", "--plugin", "other.py", "--fresh"),
        ]
    ]


def test_progress_is_one_line_that_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    child.command(["profiles"])

    shown = capsys.readouterr().out
    assert shown.count("\r") > 10 and "\n" not in shown
    assert shown.endswith("\r")


def test_importing_it_needs_neither_torch_nor_figures() -> None:
    code = "import sys, metronome; print({'torch', 'matplotlib.pyplot'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "set()\n", done.stderr
