"""Runs that remember: the same records whatever is remembered, also after kill -9, and sooner."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from contracts.run_directory import RunDirectory
from learning.remembering.store import Store, place
from tests.support import emulated
from tests.support.emulated import STAR, TREE, Outcome
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(900)]

VIRTUAL = ("--clock", "virtual")
RADIO = '{ rate = "20mbit", delay = "8ms", jitter = "2ms", loss = "0.1%" }'
SCENARIO = TREE.replace('client-edge = "lan"', f"client-edge = {RADIO}")
RECORDS = ("events.jsonl", "links.csv", "rounds.csv", "evaluations.jsonl", "probes.json")


def records(run: Outcome) -> dict[str, bytes]:
    assert run.code == 0, run.output
    found = {name: (run.directory / name).read_bytes() for name in RECORDS}
    return found | {"final": (run.directory / "final.model").read_bytes()}


def test_records_are_the_same_with_an_empty_a_full_and_a_half_full_store_and_without(
    tmp_path: Path,
) -> None:
    without = emulated.run(SCENARIO, tmp_path / "without", *VIRTUAL, "--fresh")
    assert not place().exists()
    empty = emulated.run(SCENARIO, tmp_path / "empty", *VIRTUAL)
    full = emulated.run(SCENARIO, tmp_path / "full", *VIRTUAL)
    for number, (_, _, path) in enumerate(sorted(Store(place()).scan())):
        if number % 2:
            path.unlink()
    half = emulated.run(SCENARIO, tmp_path / "half", *VIRTUAL)

    expected = records(without)
    assert records(empty) == records(full) == records(half) == expected
    trainings = [run.summary["trainings"] for run in (without, empty, full)]
    assert trainings == [{"done": 8, "remembered": 0}] * 2 + [{"done": 0, "remembered": 8}]
    assert full.summary["evaluations"] == {"done": 0, "remembered": 3}
    assert 0 < half.summary["trainings"]["remembered"] < 8
    assert "8 of 8 trainings and 3 of 3 evaluations" in full.output


def test_another_link_takes_other_times_and_no_training(tmp_path: Path) -> None:
    first = emulated.run(SCENARIO, tmp_path / "first", *VIRTUAL)
    slow = emulated.run(SCENARIO, tmp_path / "slow", *VIRTUAL, "--links", "edge-cloud=3g")

    assert slow.summary["elapsed_seconds"] > 2 * first.summary["elapsed_seconds"]
    assert slow.summary["trainings"] == {"done": 0, "remembered": 8}
    assert slow.summary["final_model"] == first.summary["final_model"]


def test_a_run_that_was_killed_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    longer = SCENARIO.replace("rounds = 2", "rounds = 6")
    undisturbed = emulated.run(longer, tmp_path / "undisturbed", *VIRTUAL, "--fresh")
    draws = random.Random(16)
    folder = tmp_path / "killed"
    folder.mkdir()
    words = emulated.command(longer, folder, *VIRTUAL)
    files, done = RunDirectory(folder / "run"), 0
    for _ in range(3):
        process = emulated.start(words, folder)
        wait_until(files.evaluations.exists, seconds=300)
        time.sleep(draws.uniform(0.0, 1.5))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        words = emulated.resuming(folder / "run")
    kept = len(list(Store(place()).scan()))
    assert kept > 0
    (folder / "run" / "notes.txt").write_text("mine")

    run = emulated.finished(words, folder)

    assert records(run) == records(undisturbed)
    done = run.summary["trainings"]["remembered"]
    assert done > 0 and run.summary["trainings"]["done"] + done == 24
    assert (folder / "run" / "notes.txt").read_text() == "mine"
    again = emulated.finished(emulated.resuming(folder / "run"), folder)
    assert again.code == 0 and "has finished" in again.output


def test_a_run_stops_one_round_after_its_target_was_reached(tmp_path: Path) -> None:
    whole = emulated.run(STAR.replace("rounds = 2", "rounds = 8"), tmp_path / "whole", *VIRTUAL)
    accuracy = [float(line.split(",")[2]) for line in _rounds(whole)]
    first = next(number for number, value in enumerate(accuracy) if value >= max(accuracy[:4]))
    target = STAR.replace("rounds = 2", "rounds = 8").replace(
        "[task]", f"[task]\ntarget_accuracy = {accuracy[first]}"
    )

    stopped = emulated.run(target, tmp_path / "stopped", *VIRTUAL, "--stop-at-target")

    assert stopped.code == 0, stopped.output
    assert stopped.summary["rounds"] == first + 1 < 8
    assert stopped.summary["rounds_to_target"] == first
    assert stopped.summary["stopped_at_target"] and not whole.summary["stopped_at_target"]
    assert _rounds(stopped) == _rounds(whole)[: first + 2]
    assert "stopped at the target" in stopped.output

    later = emulated.run(
        f"further_rounds = 3\n{target}", tmp_path / "later", *VIRTUAL, "--stop-at-target"
    )

    assert later.summary["rounds"] == first + 3 < 8 and later.summary["stopped_at_target"]
    assert _rounds(later) == _rounds(whole)[: first + 4]


def _rounds(run: Outcome) -> list[str]:
    return (run.directory / "rounds.csv").read_text().splitlines()[1:]


@pytest.mark.parametrize("fault", ["not a directory", "another version", "garbage"])
def test_with_a_broken_store_the_run_goes_on_without_it_and_says_so_once(
    tmp_path: Path, fault: str
) -> None:
    if fault == "not a directory":
        place().write_text("in the way")
    else:
        store = Store(place())
        if fault == "another version":
            (store.root / "format").write_text("0")
        else:
            for name in ("size", "limit", "totals.json", "lock"):
                (store.root / name).write_bytes(os.urandom(200))
            shutil.rmtree(store.root / "entries")
            (store.root / "entries").write_bytes(os.urandom(200))

    run = emulated.run(STAR, tmp_path / "run", *VIRTUAL)

    assert run.code == 0, run.output
    assert run.output.count("the run goes on without it") == 1
    assert run.summary["trainings"] == {"done": 4, "remembered": 0}
