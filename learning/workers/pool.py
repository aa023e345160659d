"""Training by the host's workers, seen from a node: files in a spool, no torch."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from contracts.spool import Spool
from contracts.training import Result, Task, TrainingFailed
from learning.workers.task_files import read_result, write_task
from protocols.wire import Refused

Waits = Callable[[float], Iterator[None]]
_SHORT = 0.002


def sleeping(deadline_seconds: float) -> Iterator[None]:
    """Short sleeps until the deadline."""
    deadline = time.monotonic() + deadline_seconds
    while time.monotonic() < deadline:
        time.sleep(_SHORT)
        yield


def standing_still(path: Path) -> Waits:
    """Pauses that take the host a moment and a guest's clock none; `path` lies in the spool.

    They read no clock, because a reading may move it; the runner outside bounds them.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def waits(_deadline_seconds: float) -> Iterator[None]:
        while True:
            os.fsync(descriptor)
            os.sched_yield()
            yield

    return waits


class SpoolTrainer:
    """Hands tasks to the workers that watch a spool directory.

    `waits` gives the pauses between looks for a result: `sleeping` where time may pass meanwhile,
    `standing_still` where the guest's clock must not move. It is the caller's choice, so that no
    code here knows of clocks.
    """

    def __init__(self, spool: Spool, waits: Waits) -> None:
        self._spool = spool
        self._waits = waits
        self._open: set[str] = set()

    def submit(self, task: Task) -> "SpoolPending":
        """Write the task where a worker will find it."""
        try:
            write_task(self._spool.task(task.job), task)
        except OSError as error:
            raise TrainingFailed(f"job {task.job} could not be handed over: {error}") from error
        self._open.add(task.job)
        return SpoolPending(task.job, self._spool, self._waits, self._open)

    def close(self) -> None:
        """Take back the jobs that nobody collected and no worker began."""
        for job in self._open:
            self._spool.task(job).unlink(missing_ok=True)
        self._open.clear()


class SpoolPending:
    """A job that some worker has, or will have."""

    def __init__(self, job: str, spool: Spool, waits: Waits, still_open: set[str]) -> None:
        self._job = job
        self._spool = spool
        self._waits = waits
        self._still_open = still_open
        self._collected: Result | None = None

    def result(self, deadline_seconds: float) -> Result:
        """Look for the result until it is there or the deadline has passed."""
        waits = self._waits(deadline_seconds)
        while self._collected is None:
            self._collected = self._look()
            if self._collected is None and next(waits, "over") == "over":
                self._forget()
                raise TimeoutError(
                    f"job {self._job} had no result after {deadline_seconds:g} s; "
                    "the host's workers are stopped or too slow"
                )
        return self._collected

    def _look(self) -> Result | None:
        try:
            result = read_result(self._spool.result(self._job))
        except FileNotFoundError:
            self._look_for_error()
            return None
        except (Refused, TypeError) as error:
            self._forget()
            raise TrainingFailed(f"job {self._job}: its result is unreadable: {error}") from error
        self._forget()
        return result

    def _look_for_error(self) -> None:
        try:
            reason = self._spool.error(self._job).read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        self._forget()
        raise TrainingFailed(reason)

    def _forget(self) -> None:
        for path in (self._spool.result, self._spool.error, self._spool.task):
            path(self._job).unlink(missing_ok=True)
        self._still_open.discard(self._job)
