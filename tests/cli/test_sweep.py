"""The command as a whole: shares, exit codes, going on, and the comparison at its end."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli import compare
from cli.sweep import core_shares, runs
from cli.sweep.command import sweep
from cli.sweep.core_shares import jobs_at_once, share_cores
from contracts.errors import BadInput
from scenarios import loader
from tests.support.sweep_stand_ins import FAILS, Programs, some_runs

Asked = list[tuple[list[str], float | None, str | None]]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What was to be compared; the comparison itself has tests of its own."""
    asked: Asked = []

    def remember(
        runs: Sequence[str], target: float | None, baseline: str | None, out: str | None
    ) -> int:
        asked.append((list(runs), target, baseline))
        return 0

    monkeypatch.setattr(compare, "compare", remember)
    monkeypatch.setattr(runs, "_POLL_SECONDS", 0.01)
    return asked


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A sweep file with two seeds of one scenario."""
    (tmp_path / "one.toml").write_text(loader.dump(some_runs()[0].scenario))
    file = tmp_path / "table.toml"
    file.write_text(
        'name = "table"\nseeds = [1, 2]\ntarget = 0.5\nbaseline = "fedavg"\n'
        '[[runs]]\nscenario = "one.toml"\n'
    )
    return file


def run(file: Path, programs: Programs, **more: Any) -> int:
    options = {"size": None, "seeds": None, "changes": [], "jobs": 2, "out": None, **more}
    return sweep(str(file), data_dir=None, command=programs, **options)


def test_a_sweep_runs_all_and_ends_with_the_comparison(
    table: Path, compared: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(table, Programs()) == 0

    out = tmp_path / "sweeps" / "table"
    assert (out / "small-seed1" / "summary.json").exists()
    runs = [str(out / name) for name in ("small-seed1", "small-seed2")]
    assert compared == [(runs, 0.5, "fedavg")], "this table, and nothing else that lies there"


def test_the_same_command_again_only_compares(
    table: Path, compared: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(table, Programs(), out=str(tmp_path / "out"))
    again = Programs()

    assert run(table, again, out=str(tmp_path / "out"), jobs=1) == 0

    assert again.started == []
    assert len(compared) == 2
    assert "already there: 2 of 2 runs" in capsys.readouterr().out


def test_a_sweep_that_is_shown_live_says_where_and_ends_its_server(
    table: Path, compared: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table, Programs(), out=str(tmp_path / "out"), live=0) == 0

    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("live: ")]
    port = urlsplit(line.removeprefix("live: ")).port or 0
    with socket.socket() as asking:
        assert asking.connect_ex(("127.0.0.1", port)) != 0


def test_a_broken_run_makes_the_exit_code_one_and_is_repeated_by_the_same_command(
    table: Path, compared: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")

    assert run(table, Programs(own={"small-seed1": FAILS}), out=out) == 1

    assert len(compared) == 1
    assert "1 of 2 runs failed: small-seed1; the same command repeats" in capsys.readouterr().err
    again = Programs()
    assert run(table, again, out=out) == 0
    assert again.started == ["small-seed1"]


def test_where_all_broke_there_is_nothing_to_compare(
    table: Path, compared: Asked, tmp_path: Path
) -> None:
    assert run(table, Programs(FAILS), out=str(tmp_path / "out")) == 1
    assert compared == []


def test_a_comparison_that_lacks_its_baseline_does_not_hide_which_run_broke(
    table: Path,
    compared: Asked,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise BadInput("--baseline fedavg: no finished run is called so")

    monkeypatch.setattr(compare, "compare", refuse)

    assert run(table, Programs(own={"small-seed1": FAILS}), out=str(tmp_path / "out")) == 1
    assert "runs failed: small-seed1" in capsys.readouterr().err


def test_a_setting_changed_since_is_refused_and_nothing_is_lost(
    table: Path, compared: Asked, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(table, Programs(), out=str(out), seeds="1")

    again = Programs()
    with pytest.raises(BadInput, match="small-seed1: finished, but its scenario was another"):
        run(table, again, out=str(out), changes=["protocol.rounds=7"])

    assert again.started == []
    assert (out / "small-seed1" / "summary.json").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seeds": "1,x"}, r"--seeds 1,x: not numbers; write it like --seeds 1,2,3"),
        ({"seeds": "1,1"}, r'"small-seed1" is in the sweep already'),
        ({"seeds": "-1"}, r"seed: "),
        ({"jobs": 0}, r"--jobs 0: "),
        ({"size": "huge"}, r"--size huge: "),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(
    table: Path, compared: Asked, tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        run(table, Programs(), out=str(tmp_path / "out"), **options)

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("baseline", ["fedagv", "best:tempo"])
def test_a_baseline_that_no_run_is_called_is_found_before_the_runs(
    table: Path, compared: Asked, tmp_path: Path, baseline: str
) -> None:
    table.write_text(table.read_text().replace('"fedavg"', f'"{baseline}"'))

    with pytest.raises(BadInput, match=f"baseline {baseline}: "):
        run(table, Programs(), out=str(tmp_path / "out"))

    assert not (tmp_path / "out").exists()


# Shares


@pytest.mark.parametrize(
    ("count", "asked", "jobs", "workers"),
    [(20, None, 8, 1), (2, None, 2, 4), (20, 3, 3, 2), (20, 16, 16, 1), (1, None, 1, 8)],
)
def test_runs_share_the_cores(
    monkeypatch: pytest.MonkeyPatch, count: int, asked: int | None, jobs: int, workers: int
) -> None:
    monkeypatch.setattr(core_shares, "_cores", lambda: 8)
    runs = some_runs(count)

    assert jobs_at_once(runs, asked) == jobs
    assert {run.scenario.compute.workers for run in share_cores(runs, jobs)} == {workers}


def test_the_scenarios_own_number_of_workers_stays() -> None:
    [run] = share_cores(some_runs(1, compute={"workers": 5}), 1)

    assert run.scenario.compute.workers == 5


def test_where_the_hosts_time_counts_runs_go_one_by_one_unless_told_otherwise() -> None:
    measured = some_runs(4, devices={"client": "host", "cloud": "droplet-1gb"})

    assert jobs_at_once(measured, None) == 1
    assert jobs_at_once(measured, 2) == 2
