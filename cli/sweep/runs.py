"""Executes the runs of a sweep as child processes, several at a time."""

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from cli.plugins import command_line
from cli.sweep.child import RunningChild, RunOutcome
from cli.sweep.directories import RunPaths, remove_attempt, run_paths
from contracts.errors import BadInput
from netem.spool import clear_abandoned
from scenarios import loader
from scenarios.expansion import SweepRun

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0  # for an interrupted run to end its guest and write its records

ChildCommand = Callable[[RunPaths], list[str]]


class Display(Protocol):
    """What shows the progress of a sweep."""

    def started(self, run: SweepRun) -> None:
        """Show that a run has begun."""

    def ended(self, ended: RunOutcome) -> None:
        """Show how a run ended."""

    def tick(self, running: Sequence[RunningChild], waiting: Sequence[SweepRun]) -> None:
        """Refresh what is shown of the runs under way and of those that wait."""

    def interrupted(self, running: int) -> None:
        """Show that the runs under way are being ended."""


def metronome_command(data_dir: Path | None) -> ChildCommand:
    """Return the command of a child: `metronome run` on its scenario, with our plug-ins."""
    data = ["--data", str(data_dir)] if data_dir else []
    data += command_line()

    def command(paths: RunPaths) -> list[str]:
        words = [str(paths.scenario), "--out", str(paths.directory)]
        return [sys.executable, "-m", "cli", "run", *words, *data]

    return command


def run_all(
    runs: Sequence[SweepRun],
    out: Path,
    jobs: int,
    command: ChildCommand,
    display: Display,
    lock: int,
) -> list[RunOutcome]:
    """Execute the runs, at most `jobs` at a time; none is left running, however this ends."""
    waiting, running, ended = deque(runs), list[RunningChild](), list[RunOutcome]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                display.started(waiting[0])
                running.append(_start(waiting[0], out, command, lock, jobs))
                waiting.popleft()
            display.tick(running, list(waiting))
            time.sleep(_POLL_SECONDS)
            for child in [child for child in running if child.process.poll() is not None]:
                running.remove(child)
                ended.append(child.outcome())
                display.ended(ended[-1])
    finally:
        if running:
            display.interrupted(len(running))
            _end(running)
    return ended


def _start(run: SweepRun, out: Path, command: ChildCommand, lock: int, jobs: int) -> RunningChild:
    paths = run_paths(out, run)
    try:
        remove_attempt(paths)
        paths.scenario.write_text(loader.dump(run.scenario), encoding="utf-8")
        return RunningChild(run, paths, command(paths), lock, jobs)
    except OSError as error:
        raise BadInput(f"{paths.directory}: cannot be run ({error}); correct that") from None


def _end(running: Sequence[RunningChild]) -> None:
    """End the runs and wait for them; kill those that do not exit, and clean up after them."""
    ends = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in ends]
    for child in running:
        child.process.terminate()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    stubborn = False
    for child in running:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            stubborn = True
            child.process.kill()
            child.process.wait()
        child.remove_progress_file()
    if stubborn:
        clear_abandoned()
    for number, handler in zip(ends, before, strict=True):
        signal.signal(number, handler)
