"""The parts of benchmarks/machines that need no machine: settings read, rows written."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.machines import mirror, outcome, pip_settings, virtual
from benchmarks.machines.mirror import Mirror
from benchmarks.machines.outcome import Outcome, Step
from contracts.run_directory import RunDirectory

NEW_FORMAT = """
Types: deb
# http://snapshot.example/debian
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""
OLD_FORMAT = """
# deb http://old.example/debian bookworm main
deb-src http://mirror.example/sources bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/tools.gpg] http://tools.example/apt tools main
deb [arch=amd64] http://mirror.example/debian bookworm main contrib
deb http://mirror.example/debian-security bookworm-security main
"""
SUMMARY = {
    "final_accuracy": 0.8449,
    "elapsed_seconds": 14.8049,
    "fidelity": {"verdict": "exact"},
    "provenance": {"kernel": "6.12.90 (ab12)", "torch": "2.13.0"},
}


@pytest.mark.parametrize("text", [NEW_FORMAT, OLD_FORMAT])
def test_the_list_for_another_release_names_this_machines_mirror(text: str) -> None:
    found = mirror.find(text, "bookworm")

    assert found is not None
    assert found.sources("trixie").splitlines() == [
        "deb http://mirror.example/debian trixie main",
        "deb http://mirror.example/debian trixie-updates main",
        "deb http://mirror.example/debian-security trixie-security main",
    ]


def test_a_mirror_without_security_updates_gives_a_list_without_them() -> None:
    found = mirror.find("deb http://mirror.example/debian trixie main", "trixie")

    assert found == Mirror("http://mirror.example/debian")
    assert "security" not in found.sources("forky")


def test_lists_without_the_release_give_no_mirror() -> None:
    assert mirror.find(NEW_FORMAT, "trixie") is None


def test_settings_of_pip_are_taken_along_with_their_folders(tmp_path: Path) -> None:
    wheels, index = tmp_path / "wheels", tmp_path / "index" / "simple"
    for folder in (wheels, index):
        folder.mkdir(parents=True)
    file = f"[global]\ncert = /etc/own.crt\nextra-index-url = file://{index} http://far.example/s\n"

    settings = pip_settings.read(
        {"PIP_FIND_LINKS": f"{wheels} {tmp_path}/gone", "PIP_CACHE_DIR": "/mine", "HOME": "/root"},
        [file, "[global]\ntimeout = 60\n"],
    )

    assert settings.variables == {"PIP_FIND_LINKS": f"{wheels} {tmp_path}/gone"}
    assert settings.folders() == [index.parent, wheels]
    assert settings.certificate() == Path("/etc/own.crt")
    assert pip_settings.read({}, [settings.text()]).values == settings.values
    assert settings.values["global"]["timeout"] == "60"


def test_a_row_has_what_a_new_user_sees() -> None:
    steps = [Step("./metronome run", 0, 231.6), Step("./metronome run", 0, 17.2)]

    row = Outcome("trixie", steps, SUMMARY, 187, "ok: 5 passed").row()

    assert row == (
        "| trixie | 232 s | 187 s | 17 s | exact | 84.5 % | 14.80 s | 6.12.90 (ab12) | 2.13.0 "
        "| ok: 5 passed |"
    )
    assert row.count("|") == outcome.HEADER.splitlines()[0].count("|")


def test_the_row_of_a_machine_where_nothing_works_says_so() -> None:
    row = Outcome("forky", [Step("./metronome run", 2, 240.4)]).row()

    assert row == "| forky | exit 2 after 240 s | – | – | – | – | – | – | – | not run |"


@pytest.mark.parametrize(
    ("log", "code", "said"),
    [
        ("= 3 passed, 1 skipped in 2.0s =\n=== 2 passed in 61.5s (0:01:01) ===", 0, "ok: 5 passed"),
        ("= 2 failed, 3 passed, 1 error in 2.0s =", 1, "FAILED: 3 passed, 3 failed"),
        ("ruff: not found", 127, "FAILED: none ran"),
    ],
)
def test_the_counts_of_all_test_steps_are_added_up(log: str, code: int, said: str) -> None:
    assert outcome.tests(log, code) == said


def test_the_summary_is_that_of_the_last_run(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {}
    assert outcome.last_summary(tmp_path) == nothing
    (tmp_path / "failed").mkdir()
    (tmp_path / "whole").mkdir()
    RunDirectory(tmp_path / "whole").summary.write_text('{"rounds": 8}')

    assert outcome.last_summary(tmp_path) == {"rounds": 8}


def test_a_virtual_machine_finds_its_init_and_its_steps(tmp_path: Path) -> None:
    virtual.write_steps(tmp_path, [("root", "uname -r"), ("somebody", "id -un | tee name")], 60)

    assert (tmp_path / "vm/steps").read_text() == "root uname -r\nsomebody id -un | tee name\n"
    assert os.access(tmp_path / "vm/init", os.X_OK)
    subprocess.run(["sh", "-n", tmp_path / "vm/init"], check=True, timeout=10)
