"""One run of a sweep as a child process: how it is started, its progress and its outcome."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.display import describe_round
from cli.sweep.directories import RunPaths, summary_of
from contracts import progress
from contracts.project import ROOT
from netem import syscalls
from netem.places import RUNS_AT_ONCE
from scenarios.expansion import SweepRun

_TAIL_BYTES = 4096


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended, and after how many host seconds; `failure` is the cause if it failed."""

    run: SweepRun
    seconds: float
    summary: dict[str, Any]
    failure: str | None


class RunningChild:
    """A run under way, in a process that has its own session and is ended with the sweep."""

    def __init__(
        self, run: SweepRun, paths: RunPaths, command: list[str], lock: int, jobs: int
    ) -> None:
        self.run, self._paths, self._began = run, paths, time.monotonic()
        sweep = os.getpid()
        with paths.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ
                | {
                    "TTY_COMPATIBLE": "0",  # plain lines in the log, whatever the environment says
                    RUNS_AT_ONCE: str(jobs),
                    progress.FILE: str(paths.progress),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the sweep alone, which then ends its runs
                pass_fds=(lock,),
                preexec_fn=lambda: _die_with_sweep(sweep),
            )

    @property
    def seconds(self) -> float:
        """Host seconds since the run was started."""
        return time.monotonic() - self._began

    def progress(self) -> str:
        """Return the last round that the run wrote down, or else the last line of its log."""
        if (now := progress.read(self._paths.progress)) is not None:
            return describe_round(now)
        return (_last_lines(self._paths.log) or [""])[-1]

    def remove_progress_file(self) -> None:
        """Remove the progress file of a process that has exited."""
        progress.remove(self._paths.progress)

    def outcome(self) -> RunOutcome:
        """Return how the run ended; only for a process that has exited."""
        self.remove_progress_file()
        summary = summary_of(self._paths.directory) or {}
        code, failure = self.process.returncode, None
        if code != 0 or not summary or summary.get("failure") is not None:
            how = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            said = (_last_lines(self._paths.log) or ["it said nothing"])[-1]
            failure = f"{said} ({how}; see {self._paths.log})"
        return RunOutcome(self.run, self.seconds, summary, failure)


def _die_with_sweep(sweep: int) -> None:
    """Called in the new process: have the kernel end it if the sweep is killed."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    syscalls.die_with_parent(signal.SIGTERM)
    if os.getppid() != sweep:
        os._exit(1)  # the sweep was killed before the line above


def _last_lines(log: Path) -> list[str]:
    """Return the last lines of a log, without empty ones."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]
