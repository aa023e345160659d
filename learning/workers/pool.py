"""The node's side of the worker pool: hand tasks over and collect results as spool files.

Nothing here imports torch, so that nodes start quickly.
"""

import os
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from contracts.spool import Spool
from contracts.training import Result, Task, TrainingFailed
from learning.workers.task_files import read_result, write_task
from protocols.wire import Refused

Pauses = Callable[[float], Iterator[None]]  # deadline in seconds -> one item per pause
_PAUSE_SECONDS = 0.002


def sleep_pauses(deadline_seconds: float) -> Iterator[None]:
    """Sleep briefly between looks until the deadline has passed."""
    deadline = time.monotonic() + deadline_seconds
    while time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
        yield


@cache
def clockless_pauses(path: Path) -> Pauses:
    """Make pauses that take a moment on the host and no time on a guest's clock.

    `path` is a file in the spool, which each pause syncs: that makes the guest wait for the host.
    The pauses read no clock, because reading it may move it, so they do not end by themselves; the
    runner outside bounds them. A process opens each path once, however often it waits.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def pauses(_deadline_seconds: float) -> Iterator[None]:
        while True:
            os.fsync(descriptor)
            os.sched_yield()
            yield

    return pauses


class SpoolTrainer:
    """Hands tasks to the workers that watch a spool directory.

    `pauses` makes the pauses between two looks for a result: `sleep_pauses` where time may pass
    meanwhile, `clockless_pauses` where the guest's clock must not move. The caller chooses, so that
    nothing here needs to know about clocks.
    """

    def __init__(self, spool: Spool, pauses: Pauses) -> None:
        self._spool = spool
        self._pauses = pauses
        self._open: set[str] = set()

    def submit(self, task: Task) -> "SpoolPending":
        """Write the task where a worker will find it."""
        try:
            write_task(self._spool.task(task.job), task)
        except OSError as error:
            raise TrainingFailed(f"job {task.job} could not be handed over: {error}") from error
        self._open.add(task.job)
        return SpoolPending(task.job, self._spool, self._pauses, self._open)

    def close(self) -> None:
        """Withdraw the jobs that were not collected and that no worker has begun."""
        for job in self._open:
            self._spool.task(job).unlink(missing_ok=True)
        self._open.clear()


class SpoolPending:
    """A job that was handed to the pool and whose result can be waited for."""

    def __init__(self, job: str, spool: Spool, pauses: Pauses, still_open: set[str]) -> None:
        self._job = job
        self._spool = spool
        self._pauses = pauses
        self._still_open = still_open
        self._collected: Result | None = None

    def result(self, deadline_seconds: float) -> Result:
        """Return the result once it is there; raise TimeoutError after the deadline.

        Raises TrainingFailed with the worker's own sentence if the training failed.
        """
        pauses = self._pauses(deadline_seconds)
        while self._collected is None:
            self._collected = self._look()
            if self._collected is None and next(pauses, "over") == "over":
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
