"""`metronome test`: which steps run, and what the whole says in the end."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli import check

Steps = list[list[str]]


@pytest.fixture
def steps_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Steps]:
    """Replace the running of commands: each returns the code given for its tool, else 0."""
    monkeypatch.setattr(check, "COVERAGE", tmp_path / ".coverage")

    def prepare(**codes: int) -> Steps:
        commands: Steps = []

        def execute(command: list[str]) -> int:
            commands.append(command)
            return codes.get(command[0], 0)

        monkeypatch.setattr(check, "_execute", execute)
        return commands

    return prepare


def test_all_steps_run_in_order(
    steps_run: Callable[..., Steps], capsys: pytest.CaptureFixture[str]
) -> None:
    commands = steps_run()

    code = check.run([])

    tools = [command[0] for command in commands]
    assert tools == ["ruff", "ruff", "mypy", "pytest", "cli", "pytest", "pytest"]
    last = [command[-1] for command in commands[3:]]
    assert last == [
        "not emulation",
        "kernel",
        "emulation and beside",
        "emulation and not beside",
    ]
    assert code == 0
    assert (
        capsys.readouterr().out.splitlines()[-1].startswith("metronome test: all 7 checks passed")
    )


def test_fast_leaves_out_emulation(steps_run: Callable[..., Steps]) -> None:
    commands = steps_run()

    check.run(["--fast"])

    assert [command[-1] for command in commands if command[0] == "pytest"] == ["not emulation"]


def test_later_steps_run_after_a_failure(
    steps_run: Callable[..., Steps], capsys: pytest.CaptureFixture[str]
) -> None:
    commands = steps_run(mypy=1)

    code = check.run([])

    assert len(commands) == 7
    assert code == 1
    assert "FAILED: mypy" in capsys.readouterr().out.splitlines()[-1]


def test_exitfirst_stops_at_the_first_failure(steps_run: Callable[..., Steps]) -> None:
    commands = steps_run(mypy=1)

    code = check.run(["--exitfirst"])

    assert [command[0] for command in commands] == ["ruff", "ruff", "mypy"]
    assert code == 1


def test_arguments_after_two_dashes_go_to_pytest(steps_run: Callable[..., Steps]) -> None:
    commands = steps_run()

    check.run(["--fast", "--", "-k", "wire"])

    assert commands[-1][-4:-2] == ["-k", "wire"]
    assert commands[0] == ["ruff", "check", "."]


def test_no_tests_at_all_is_a_failure(steps_run: Callable[..., Steps]) -> None:
    steps_run(pytest=check.NO_TESTS_SELECTED)

    assert check.run([]) == 1
    assert check.run(["--", "-k", "nothing is called this"]) == 1


def test_only_the_fast_tests_of_the_whole_gate_are_measured(
    steps_run: Callable[..., Steps],
) -> None:
    commands = steps_run()

    check.run([])
    check.run(["--fast"])

    measured = [command[-1] for command in commands if "--cov" in command]
    assert measured == ["not emulation"]


def test_the_coverage_stands_before_the_outcomes(
    steps_run: Callable[..., Steps],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    steps_run()
    (tmp_path / "measured.py").write_text("a = 1\nif not a:\n    a = 2\n    a = 3\n")
    others = check._execute

    def measure(command: list[str]) -> int:
        if "--cov" in command:
            words = ["coverage", "run", f"--data-file={check.COVERAGE}", "measured.py"]
            subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True)
        return others(command)

    monkeypatch.setattr(check, "_execute", measure)
    monkeypatch.setattr(check, "ROOT", tmp_path)

    assert check.run([]) == 0

    lines = capsys.readouterr().out.splitlines()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("coverage")]
    assert lines[at] == "coverage of the tests without emulation: 50.0 % of all lines"
    assert any(line.startswith("ruff check ") for line in lines[at:])


def test_coverage_of_an_earlier_gate_is_not_shown(
    steps_run: Callable[..., Steps], capsys: pytest.CaptureFixture[str]
) -> None:
    steps_run()
    check.COVERAGE.write_bytes(b"old")

    check.run(["--fast"])

    assert "coverage of" not in capsys.readouterr().out
