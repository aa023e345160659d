"""`metronome test`: the gate. Runs every check of the project, one after the other."""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from contracts.project import ROOT
from runner.handing_back import claim

COVERAGE = ROOT / ".coverage"  # where pytest-cov leaves what it measured
# What the tools leave in the tree.
LEFT_HERE = (".coverage", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache")
NO_TESTS_SELECTED = 5  # pytest's exit code


def run(arguments: list[str]) -> int:
    """Run all steps and print one line for each at the end; return 0 only if none failed.

    With --fuzz, try many bad inputs instead (tests/fuzz); with --faults, disturb real runs
    (tests/faults).
    """
    for option, package in (("--fuzz", "tests.fuzz"), ("--faults", "tests.faults")):
        if arguments[:1] == [option]:
            return _execute([package, *arguments[1:]])
    own, extra = _split(arguments)
    parser = argparse.ArgumentParser(
        prog="metronome test",
        description="Run ruff, mypy and all tests.",
        epilog="What follows -- goes to pytest: metronome test --fast -- -k wire. "
        "--fuzz [--count N] [--seed S] tries N bad inputs of each kind instead. "
        "--faults [--seed S] [--count N] disturbs real runs instead (docs/reliability.md).",
    )
    parser.add_argument("--fast", action="store_true", help="leave out the emulation tests")
    parser.add_argument("--exitfirst", action="store_true", help="stop at the first failed step")
    options = parser.parse_args(own)

    for name in LEFT_HERE:
        claim(ROOT / name)
    COVERAGE.unlink(missing_ok=True)
    outcomes: list[tuple[str, str, float]] = []
    for name, command in steps(options.fast, extra):
        print(f"\n=== {name}: {' '.join(command)}", flush=True)
        started = time.monotonic()
        code = _execute(command)
        seconds = time.monotonic() - started
        # What the user selects may well leave some of the test steps empty.
        empty = code == NO_TESTS_SELECTED and name.startswith("tests") and bool(extra)
        outcome = "nothing selected" if empty else "ok" if code == 0 else "FAILED"
        outcomes.append((name, outcome, seconds))
        print(f"=== {name}: {outcome} in {seconds:.1f} s", flush=True)
        if outcome == "FAILED" and options.exitfirst:
            break
    _print_coverage()
    return _conclude(outcomes)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Separate our own arguments from those after --, which go to pytest."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def steps(fast: bool, extra: Sequence[str] = ()) -> list[tuple[str, list[str]]]:
    """Return the steps: a name, and a Python module with its arguments."""
    pytest = ["pytest", "--durations=5", "--durations-min=1", *extra, "-m"]
    in_parallel = [*pytest[:1], "-n", "2", "--dist", "loadgroup", *pytest[1:]]
    found = [
        ("ruff check", ["ruff", "check", "."]),
        ("ruff format", ["ruff", "format", "--check", "."]),
        ("mypy", ["mypy"]),
    ]
    # Coverage slows tests down: measured only where no time is kept, and for all tests together.
    measured = [] if fast or extra else ["--cov", "--cov-report="]
    found.append(
        (
            "tests without emulation",
            [*in_parallel[:1], *measured, *in_parallel[1:], "not emulation"],
        )
    )
    if not fast:
        # Built before the tests, so that no single test has to wait minutes for it.
        found.append(("virtual clock's kernel", ["cli", "kernel"]))
        found.append(("tests on the virtual clock", [*in_parallel, "emulation and beside"]))
        found.append(("tests with emulation", [*pytest, "emulation and not beside"]))
    return found


def _execute(command: list[str]) -> int:
    """Run a Python module at the project's root, its output passed straight through."""
    return subprocess.run([sys.executable, "-u", "-m", *command], cwd=ROOT, check=False).returncode


def _print_coverage() -> None:
    """Print how much of the code the tests without emulation cover, if that was measured."""
    if not COVERAGE.exists():
        return
    command = [sys.executable, "-m", "coverage", "report", "--format=total", "--precision=1"]
    command.append(f"--data-file={COVERAGE}")
    found = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if found.returncode == 0:
        print(f"\ncoverage of the tests without emulation: {found.stdout.strip()} % of all lines")


def _conclude(outcomes: list[tuple[str, str, float]]) -> int:
    print()
    for name, outcome, seconds in outcomes:
        print(f"{name:<24} {outcome:<16} {seconds:7.1f} s")
    failed = [name for name, outcome, _ in outcomes if outcome == "FAILED"]
    tests = [outcome for name, outcome, _ in outcomes if name.startswith("tests")]
    if tests and all(outcome == "nothing selected" for outcome in tests):
        failed.append("tests (none selected)")
    total = sum(seconds for _, _, seconds in outcomes)
    if failed:
        print(f"metronome test: FAILED: {', '.join(failed)} ({total:.0f} s)", flush=True)
        return 1
    print(f"metronome test: all {len(outcomes)} checks passed ({total:.0f} s)", flush=True)
    return 0
