"""A guest under a container's conditions: little shared memory, which forbids executing.

Its address space is random too, as the call that forbids that is refused, and so is the one with
which the guest's kernel would keep below the directories that it may show.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support import emulated
from tests.support.emulated import STAR, TREE
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount another /dev/shm"),
]
MOUNT = 'mount -t tmpfs -o nosuid,nodev,noexec,size=64m shm /dev/shm && exec "$@"'
CONTAINER = [
    *("unshare", "--mount", "sh", "-c", MOUNT, "sh"),
    *(sys.executable, "-m", "tests.support.refusing", "personality"),
    *(sys.executable, "-m", "tests.support.refusing", "openat2"),
]
VIRTUAL = ("--clock", "virtual")
SAME = ("events.jsonl", "rounds.csv", "links.csv", "membership.csv")


def contained(scenario: str, folder: Path, *options: str) -> "subprocess.Popen[str]":
    folder.mkdir(exist_ok=True)
    return emulated.start([*CONTAINER, *emulated.command(scenario, folder, *options)], folder)


def test_a_run_with_its_memory_on_a_disk_has_the_same_records_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    before = emulated.leftovers()
    outside = emulated.run(TREE, tmp_path / "outside", *VIRTUAL)
    assert outside.code == 0, outside.output

    process = contained(TREE, tmp_path / "inside", *VIRTUAL)
    output, _ = process.communicate(timeout=240)

    assert process.returncode == 0, output
    said = " ".join(output.split())
    assert ", a disk; not /dev/shm (programs there may not be executed); a long run" in said
    for name in SAME:
        files = [folder / "run" / name for folder in (tmp_path / "outside", tmp_path / "inside")]
        first, second = (file.read_bytes() if file.exists() else None for file in files)
        assert first == second, name
    assert emulated.leftovers() == before


def test_after_kill_9_the_next_run_clears_away_what_is_on_the_disk(tmp_path: Path) -> None:
    before = emulated.leftovers()
    process = contained(STAR, tmp_path / "killed", *VIRTUAL, "--set", "protocol.rounds=500")
    events = tmp_path / "killed" / "run" / "events.jsonl"
    wait_until(lambda: events.exists() and '"phase": "round"' in events.read_text())

    process.send_signal(signal.SIGKILL)  # `exec` made it the runner itself
    process.communicate(timeout=60)
    assert emulated.leftovers() != before, "there is something to clear away"
    outcome = emulated.run(STAR, tmp_path / "next", *VIRTUAL)

    assert outcome.code == 0, outcome.output
    assert "cleared away what a killed run had left" in outcome.output
    assert emulated.leftovers() == before


def test_a_spool_below_run_can_be_written_to_from_the_guest(tmp_path: Path) -> None:
    before = emulated.leftovers()
    with tempfile.TemporaryDirectory(prefix="place-", dir="/run") as runtime:
        mount = f"mount -t tmpfs -o size=4g run {runtime} && export XDG_RUNTIME_DIR={runtime}"
        command = ["unshare", "--mount", "sh", "-c", f"{mount} && {MOUNT}", "sh"]
        words = [*command, *emulated.command(STAR, tmp_path, *VIRTUAL)]
        process = emulated.start(words, tmp_path)
        output, _ = process.communicate(timeout=240)

    assert process.returncode == 0, output
    assert "guest memory" not in output, "this place is memory"
    assert emulated.leftovers() == before
