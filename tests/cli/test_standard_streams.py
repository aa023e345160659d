"""What a command is started with: streams that are closed, full or no longer read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.errors import BadInput
from contracts.project import ROOT
from netem import places
from runner.handing_back import handing_back


def metronome(words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `metronome` with words of a shell."""
    command = f"exec {sys.executable} -m cli {words}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_output_that_cannot_be_written_is_told_in_a_sentence() -> None:
    ended = metronome("profiles > /dev/full")

    assert ended.returncode == 1
    assert ended.stderr == (
        "metronome: standard output: cannot be written to (No space left on device)\n"
    )


def test_a_reader_that_wants_no_more_is_no_error() -> None:
    ended = metronome("profiles | head -c 1; exit ${PIPESTATUS[0]}".replace("exec ", ""))

    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("closed", "code"),
    [("profiles >&-", 0), ("profiles <&- >&- 2>&-", 0), ("run nothing-like-that 2>/dev/full", 2)],
)
def test_closed_streams_change_nothing_else(closed: str, code: int) -> None:
    assert metronome(closed).returncode == code


def test_a_terminal_without_the_characters_of_a_table_gets_question_marks() -> None:
    ended = metronome("profiles", PYTHONIOENCODING="ascii")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "wifi" in ended.stdout


@pytest.mark.parametrize("words", ["run quickstart --out ''", "report . --out $'a\\nb'"])
def test_an_out_that_names_nothing_is_refused(words: str) -> None:
    ended = metronome(words)

    assert ended.returncode == 2
    assert "names nothing; give a directory or file" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_nonsense_in_the_environment_is_refused() -> None:
    with (
        pytest.raises(BadInput, match=r'^SUDO_GID: "x" is no user or group'),
        handing_back({"SUDO_UID": "1000", "SUDO_GID": "x"}),
    ):
        pytest.skip("only root is asked for whom it works")


def test_a_number_of_runs_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(places.RUNS_AT_ONCE, "0")

    with pytest.raises(BadInput, match=r'^METRONOME_RUNS_AT_ONCE: "0" is no number of runs'):
        places.look(places.SHARED_MEMORY)


def test_an_error_of_the_system_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    ended = metronome("cache", XDG_CACHE_HOME=str(tmp_path / "file"))

    assert ended.returncode in (1, 2)
    assert ended.stderr.startswith("metronome: ")
    assert "Traceback" not in ended.stderr
