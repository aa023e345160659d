"""The evaluator as the runner sees it: started, replaced when it dies, and ended."""

import sys
from pathlib import Path

from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from learning.workers.started_process import StartedProcess


class EvaluatorBroken(Exception):
    """The evaluator dies again and again; the message contains the end of its log."""


class EvaluatorSupervisor:
    """Runs an evaluator; one that dies is replaced, and the next one takes up what it had not done.

    Start it from the main thread: the kernel ends the evaluator with the thread that started it.
    """

    def __init__(self, run_dir: Path, spool: Spool) -> None:
        self._run_dir, self._files, self._spool = run_dir, RunDirectory(run_dir), spool
        self._process: StartedProcess | None = None
        self._written = 0  # bytes of lines, when the evaluator was started
        self._in_vain = False  # the one before it had written none

    def start(self) -> None:
        """Start one; it loads its data while the caller goes on."""
        self._written = self._size()
        self._process = StartedProcess(self._command(), self._files.evaluator_log)

    @property
    def pid(self) -> int | None:
        """Return its process id; None if there is none."""
        return self._process.pid if self._process is not None else None

    def next_model(self) -> str:
        """Return the name of the model that it is at; empty if none waits for it."""
        waiting = self._spool.models_to_evaluate(self._files.waiting_models)
        return waiting[0].name if waiting else ""

    def check(self) -> str | None:
        """Replace one that died and say so. Call this a few times a second; it does not wait.

        Raise EvaluatorBroken if it has died twice without writing a line in between.
        """
        if self._process is None or self._process.alive() or self.finished():
            return None
        return self._replace(f"the evaluator died {self._process.cause_of_death()}")

    def replace(self, why: str) -> None:
        """End one that does not get on, and start another one."""
        self.stop()
        self._replace(why)

    def finished(self) -> bool:
        """Return whether it has ended because it was told to, with nothing left to evaluate."""
        process = self._process.process if self._process is not None else None
        told = self._spool.stop_evaluator.exists()
        return process is not None and told and process.poll() == 0

    def stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()

    def _replace(self, why: str) -> str:
        before = self._written
        if self._in_vain and self._size() == before:
            raise EvaluatorBroken(f"{why}; the one before it had written nothing either")
        self._in_vain = self._size() == before
        self.start()
        return why

    def _size(self) -> int:
        lines = self._files.evaluations
        return lines.stat().st_size if lines.exists() else 0

    def _command(self) -> list[str]:
        options = ["--run", str(self._run_dir), "--spool", str(self._spool.root)]
        return [sys.executable, "-m", "learning.evaluation.evaluator", *options]
