"""Training by the host's workers, seen from a node: files in a spool, no torch."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from learning.seam import Result, Task, TrainingFailed
from learning.spool import Spool, read_result, write_task
from protocols.wire import Refused


class SpoolTrainer:
    """Hands tasks to the workers that watch a spool directory.

    `pause` is called between looks for a result. On the wall clock it sleeps a little; where the
    guest's clock must stand still meanwhile it is an fsync (see `fsync_pause`). It is the caller's
    choice, so that no code here knows of clocks.
    """

    def __init__(self, spool: Path, pause: Callable[[], None]) -> None:
        self._spool = Spool(spool)
        self._pause = pause
        self._open: set[str] = set()

    def submit(self, task: Task) -> "SpoolPending":
        """Write the task where a worker will find it."""
        try:
            write_task(self._spool.task(task.job), task)
        except OSError as error:
            raise TrainingFailed(f"job {task.job} could not be handed over: {error}") from error
        self._open.add(task.job)
        return SpoolPending(task.job, self._spool, self._pause, self._open)

    def close(self) -> None:
        """Take back the jobs that nobody collected and no worker began."""
        for job in self._open:
            self._spool.task(job).unlink(missing_ok=True)
        self._open.clear()


class SpoolPending:
    """A job that some worker has, or will have."""

    def __init__(
        self, job: str, spool: Spool, pause: Callable[[], None], still_open: set[str]
    ) -> None:
        self._job = job
        self._spool = spool
        self._pause = pause
        self._still_open = still_open
        self._collected: Result | None = None

    def result(self, deadline_seconds: float) -> Result:
        """Look for the result until it is there or the deadline has passed."""
        deadline = time.monotonic() + deadline_seconds
        while self._collected is None:
            self._collected = self._look()
            if self._collected is None:
                if time.monotonic() >= deadline:
                    self._forget()
                    raise TimeoutError(
                        f"job {self._job} had no result after {deadline_seconds:g} s; "
                        "the host's workers are stopped or too slow"
                    )
                self._pause()
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


def fsync_pause(path: Path) -> Callable[[], None]:
    """A pause that takes the host a moment and a guest's clock none; `path` lies in the spool."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return lambda: os.fsync(descriptor)
