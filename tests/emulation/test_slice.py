"""A whole run in a real guest: scenario, network, processes, bytes, records."""

import csv
import json
import os
import pty
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import emulated
from tests.support.emulated import STAR, TREE
from tests.support.open_trees import readable_by_others

pytestmark = pytest.mark.emulation


def test_a_tree_in_the_guest_trains_and_leaves_every_record_and_nothing_else(
    tmp_path: Path,
) -> None:
    before = emulated.leftovers()

    outcome = emulated.run(TREE, tmp_path, "--backend", "guest")

    assert outcome.code == 0, outcome.output
    assert emulated.leftovers() == before
    left = {path.name for path in outcome.directory.iterdir()}
    assert left >= {
        "scenario.toml",
        "summary.json",
        "rounds.csv",
        "events.jsonl",
        "links.csv",
        "accuracy.png",
    }
    summary = outcome.summary
    assert summary["rounds"] == 2
    assert summary["backend"] == "guest"
    assert summary["final_accuracy"] > 0.3
    for phase in ("download", "compute", "upload", "wait", "aggregate"):
        assert outcome.events(phase), phase
    rows = list(csv.DictReader((outcome.directory / "rounds.csv").open()))
    for earlier, later in pairwise(rows):
        length = float(later["elapsed_seconds"]) - float(earlier["elapsed_seconds"])
        parts = ("download", "compute", "upload", "wait", "aggregate")
        assert sum(float(later[part]) for part in parts) == pytest.approx(length, abs=1e-4)


def test_the_interfaces_carry_the_models_and_the_overhead_of_tcp_and_keys_only(
    tmp_path: Path,
) -> None:
    outcome = emulated.run(TREE, tmp_path, "--backend", "guest")

    assert outcome.code == 0, outcome.output
    assert 0.02 <= outcome.summary["wire_overhead"] - emulated.ENCRYPTION <= 0.08


def test_an_ordinary_user_needs_no_root_for_the_guest(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    for parent in tmp_path.parents[:2]:
        os.chmod(parent, parent.stat().st_mode | 0o755)
    command = emulated.command(TREE, tmp_path, "--set", "protocol.rounds=1")
    user = [*readable_by_others(tmp_path), "setpriv", "--reuid=65534", "--regid=65534"]
    user.append("--clear-groups")

    done = subprocess.run(
        [*user, *command] if os.geteuid() == 0 else command,
        env=emulated.environment_at(tmp_path),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run" / "summary.json").exists()


def test_a_slower_uplink_costs_what_its_bytes_and_rates_predict(tmp_path: Path) -> None:
    for attempt in ("first", "second", "third"):  # somebody else's load moves the wall clock
        slow, fast = (_moved(tmp_path / attempt / rate, rate) for rate in ("2mbit", "20mbit"))
        # One model down and one up an institution's own link, each at the link's rate.
        predicted = pytest.approx(8 * (slow.bytes / 2e6 - fast.bytes / 20e6), rel=0.10)
        if slow.seconds - fast.seconds == predicted:
            break

    assert slow.seconds - fast.seconds == predicted


class Moved(NamedTuple):
    """What an institution's link carried, and how long transfers took along the rounds."""

    bytes: int
    seconds: float


def _moved(folder: Path, rate: str) -> Moved:
    folder.mkdir(parents=True)
    change = ("--set", f"links.edge-cloud.rate={rate}")
    # A gigabit on the other tier would keep the host busy without being a part of the question.
    light = TREE.replace('"lan"', '{ rate = "20mbit", delay = "2ms" }')
    outcome = emulated.run(light, folder, "--backend", "guest", *change)
    assert outcome.code == 0, outcome.output
    with (outcome.directory / "rounds.csv").open() as file:
        rounds = list(csv.DictReader(file))
    with (outcome.directory / "links.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["link"] == "inst1-wan"]
    return Moved(
        sum(int(row["bytes_up"]) + int(row["bytes_down"]) for row in rows[1:]),
        sum(float(row["download"]) + float(row["upload"]) for row in rounds),
    )


def test_mininets_own_command_line_works_before_the_run_goes_on(tmp_path: Path) -> None:
    screen = _run_after_typing(tmp_path, "client1 ping -c 1 cloud")

    assert "1 received" in screen
    assert (tmp_path / "run" / "summary.json").exists()


_STRANGER = (
    "import sys, time, zmq; socket = zmq.Context().socket(zmq.DEALER); "
    'socket.identity = b"client2"; socket.connect("tcp://" + sys.argv[1] + ":5555"); '
    '[time.sleep(0.1) for _ in iter(lambda: socket.send(b"whatever it is, let me in"), 1)]'
)


def test_a_process_on_the_network_without_a_key_is_nobody_and_counted(tmp_path: Path) -> None:
    _run_after_typing(tmp_path, f"client1 {sys.executable} -c '{_STRANGER}' cloud &")

    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["refused"].keys() == {"stranger"}
    assert summary["rounds"] == 1 and summary["failure"] is None


def _run_after_typing(folder: Path, line: str) -> str:
    """Run one round after typing a line into Mininet's own command line; return the screen."""
    ours, theirs = pty.openpty()
    one_round = ("--set", "protocol.rounds=1")
    process = subprocess.Popen(
        emulated.command(STAR, folder, "--backend", "guest", "--cli", *one_round),
        env=emulated.environment(),
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen = ""
    answers = [("mininet>", f"{line}\n"), ("mininet>", "exit\n")]
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        try:
            screen += os.read(ours, 4096).decode(errors="replace")
        except OSError:
            break
        if answers and screen.count("mininet>") == 3 - len(answers):
            os.write(ours, answers.pop(0)[1].encode())

    assert process.wait(60) == 0, screen
    return screen
