"""Plug-ins in real runs: in the guest's nodes, on the host, after kill -9, and in sweeps."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.run_directory import RunDirectory
from tests.support import emulated
from tests.support.plugin_files import EXAMPLES
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.beside]

SCENARIO = """
name = "letters"
clock = "virtual"
seed = 2
[task]
dataset = "sentences"
model = "letter-gru"
partition = "by-rank"
samples_per_client = 200
learning_rate = 1.0
[protocol]
name = "fast-clients"
rounds = 4
clients_per_round = 2
explore = 0.0
[topology]
kind = "star"
clients = 4
[links]
client-cloud = "fibre"
[devices]
client = { mix = { laptop-core = 1, old-tablet = 1 } }
cloud = "droplet-1gb"
"""
USED = ("next_letter.py", "fast_clients.py", "unequal_sizes.py")


def _copied(folder: Path) -> list[str]:
    """Copy the examples; return the options that bring the copies."""
    folder.mkdir()
    for name in USED:
        shutil.copy(EXAMPLES / name, folder)
    return [word for name in USED for word in ("--plugin", str(folder / name))]


def _records(run: Path) -> list[bytes]:
    files = RunDirectory(run)
    return [file.read_bytes() for file in (files.events, files.links, files.rounds)]


def test_a_killed_run_goes_on_with_its_own_copies_and_ends_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    options = _copied(tmp_path / "mine")
    whole = emulated.run(SCENARIO, tmp_path / "whole", *options)
    assert whole.code == 0, whole.output
    folder = tmp_path / "killed"
    folder.mkdir()
    process = emulated.start(emulated.command(SCENARIO, folder, *options, "--fresh"), folder)
    files = RunDirectory(folder / "run")
    wait_until(files.evaluations.exists, seconds=300)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    for name in USED:
        (tmp_path / "mine" / name).write_text("raise SystemExit('changed meanwhile')")

    run = emulated.finished(emulated.resuming(folder / "run"), folder)

    assert run.code == 0, run.output
    assert _records(run.directory) == _records(whole.directory)
    made = run.summary["provenance"]["plugins"]
    assert [one["name"] for one in made] == ["next_letter", "fast_clients", "unequal_sizes"]
    assert made == whole.summary["provenance"]["plugins"]
    assert run.summary["final_accuracy"] > 0.1
    _everybody_is_tried_and_then_the_fastest_two(whole)


def _everybody_is_tried_and_then_the_fastest_two(run: emulated.Outcome) -> None:
    taken: dict[int, dict[str, float]] = {}
    for event in run.events("upload"):
        taken.setdefault(event["round"], {})[event["node"]] = event["end"]
    assert {*taken[1], *taken[2]} == {f"client{number}" for number in (1, 2, 3, 4)}
    waits = [event for event in run.events("wait") if event["node"] == "cloud"]
    begun = {event["round"]: event["start"] for event in waits}
    needed = {node: end - begun[number] for number in (1, 2) for node, end in taken[number].items()}
    assert set(taken[3]) == set(taken[4]) == set(sorted(needed, key=needed.__getitem__)[:2])


def test_a_sweep_brings_them_to_its_runs_and_repeats_none_unless_their_code_changed(
    tmp_path: Path,
) -> None:
    options = _copied(tmp_path / "mine")
    (tmp_path / "letters.toml").write_text(SCENARIO.replace("rounds = 4", "rounds = 1"))
    sweep = tmp_path / "both.toml"
    sweep.write_text('name = "both"\nseeds = [1, 2]\n[[runs]]\nscenario = "letters.toml"\n')
    words = [sys.executable, "-m", "cli", "sweep", str(sweep), "--out", str(tmp_path / "out")]

    first = emulated.finished([*words, *options], tmp_path)
    again = emulated.finished([*words, *options], tmp_path)
    with (tmp_path / "mine" / "next_letter.py").open("a") as file:
        file.write("# changed\n")
    changed = emulated.finished([*words, *options], tmp_path)

    assert first.code == again.code == 0, first.output + again.output
    runs = sorted(path.parent for path in (tmp_path / "out").glob("*/summary.json"))
    assert len(runs) == 2
    for run in runs:
        made = json.loads((run / "summary.json").read_text())["provenance"]["plugins"]
        assert len(made) == 3
    assert changed.code == 2
    assert 'finished, but its model "letter-gru" was other code than now' in changed.output


def test_without_them_the_scenario_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "letters.toml"
    file.write_text(SCENARIO)
    done = subprocess.run(
        [sys.executable, "-m", "cli", "run", str(file), "--out", str(tmp_path / "run")],
        env=emulated.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 2 and 'unknown profile "old-tablet"' in done.stderr
    assert not (tmp_path / "run").exists()
