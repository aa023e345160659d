"""A sweep of real runs: two at once, none repeated, and nothing left behind."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contracts import progress
from tests.support import emulated
from tests.support.emulated import STAR
from tests.support.waiting import wait_until

pytestmark = pytest.mark.emulation

TABLE = """
name = "tiny-table"
seeds = [1, 2]
target = 0.2
[[runs]]
scenario = "star.toml"
set = { clock = "virtual", "task.model" = "tiny-mlp" }
"""
NAME = "small-clock-virtual-model-tiny-mlp"
SEED_1, SEED_2 = f"{NAME}-seed1", f"{NAME}-seed2"


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    (folder / "star.toml").write_text(STAR)
    (folder / "table.toml").write_text(TABLE)
    words = [sys.executable, "-m", "cli", "sweep", "table.toml", "--out", "out", *options]
    return emulated.start(words, folder)


def test_a_sweep_runs_its_table_compares_it_and_does_not_repeat_it(tmp_path: Path) -> None:
    before = emulated.leftovers()

    first = start(tmp_path, "--jobs", "2")
    output, _ = first.communicate(timeout=240)

    assert first.returncode == 0, output
    for seed, name in enumerate((SEED_1, SEED_2), 1):
        summary = json.loads((tmp_path / "out" / name / "summary.json").read_text())
        assert (summary["seed"], summary["rounds"], summary["failure"]) == (seed, 2, None)
    assert (tmp_path / "out" / "comparison.csv").exists()
    assert emulated.leftovers() == before

    again = start(tmp_path)
    output, _ = again.communicate(timeout=60)
    assert again.returncode == 0, output
    assert "already there: 2 of 2 runs" in output
    assert "started" not in output


def test_a_run_writes_its_progress_where_a_sweep_would_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(progress.FILE, str(tmp_path / "progress.json"))

    done = emulated.run(STAR, tmp_path, "--clock", "virtual", "--set", "task.model=tiny-mlp")

    assert done.code == 0, done.output
    found = progress.read(tmp_path / "progress.json")
    assert found is not None
    assert (found.round, found.rounds) == (2, 2)
    assert found.elapsed == pytest.approx(done.summary["elapsed_seconds"], abs=1e-6)
    assert found.seconds_left == 0.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_however_a_sweep_is_ended_its_guests_end_and_the_same_command_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    before = emulated.leftovers()
    process = start(tmp_path, "--jobs", "1", "--set", "protocol.rounds=500")
    events = tmp_path / "out" / SEED_1 / "events.jsonl"
    wait_until(lambda: events.exists() and '"phase": "round"' in events.read_text())

    process.send_signal(number)
    output, _ = process.communicate(timeout=120)

    if number == signal.SIGINT:
        assert process.returncode == 130, output
        assert "0 of 2 runs are finished, and the same command goes on" in output
    wait_until(lambda: emulated.leftovers() == before)
    wait_until(lambda: (tmp_path / "out" / SEED_1 / "summary.json").exists())
    wait_until(lambda: is_free(tmp_path / "out" / ".lock"))  # its run may still be drawing

    again = start(tmp_path, "--jobs", "1", "--seeds", "1")
    output, _ = again.communicate(timeout=240)
    assert again.returncode == 0, output
    summary = json.loads((tmp_path / "out" / SEED_1 / "summary.json").read_text())
    assert (summary["rounds"], summary["failure"]) == (2, None)


def is_free(lock: Path) -> bool:
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
