"""Training inside the node's own process, in a thread, so that `submit` returns at once."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import torch

from contracts.training import Result, Task
from learning.training.context import TrainingContext
from learning.training.job import run_task


class InlineTrainer:
    """Trains one task after another with a single torch thread, as a worker of the pool does."""

    def __init__(self, context: TrainingContext) -> None:
        self._context = context
        # OpenMP's thread count is a per-thread setting, so it is set in the thread that trains.
        self._thread = ThreadPoolExecutor(1, "training", torch.set_num_threads, (1,))

    @classmethod
    def load(cls, run_dir: Path) -> "InlineTrainer":
        """Make a trainer with the data, partition and model of a run."""
        return cls(TrainingContext.load(run_dir))

    def submit(self, task: Task) -> "InlinePending":
        """Begin the task, or queue it behind earlier ones."""
        return InlinePending(task.job, self._thread.submit(run_task, task, self._context))

    def close(self) -> None:
        """Drop tasks that have not begun and wait for the one that has."""
        self._thread.shutdown(cancel_futures=True)


class InlinePending:
    """A job in this process's training thread, whose result can be waited for."""

    def __init__(self, job: str, future: "Future[Result]") -> None:
        self._job = job
        self._future = future

    def result(self, deadline_seconds: float) -> Result:
        """Return the result once it is there; raise TimeoutError after the deadline."""
        try:
            return self._future.result(deadline_seconds)
        except TimeoutError as error:
            raise TimeoutError(
                f"job {self._job} had no result after {deadline_seconds:g} s; "
                "this machine is too slow for it"
            ) from error
