"""One worker of the pool, a process on the host.

python -m learning.workers.worker --run RUN --spool SPOOL --index I repeatedly takes the oldest job
in the spool, trains it and writes its result, until told to stop.
"""

import os
import traceback
from pathlib import Path

import torch

from contracts.spool import Spool
from contracts.training import Task, TrainingFailed
from learning.training.context import TrainingContext
from learning.training.job import run_task
from learning.workers.host_process import ParentProcess, argument_parser, run_until_stopped
from learning.workers.task_files import read_task, write_error, write_result
from protocols.wire import Refused


class Worker:
    """Claims jobs in a spool one at a time and answers each with a result or an error."""

    def __init__(self, spool: Spool, index: int, context: TrainingContext) -> None:
        self._spool = spool
        self._index = index
        self._context = context

    def step(self) -> bool:
        """Do the oldest job; return whether there was one."""
        job = None if self._spool.stop_workers.exists() else self._claim()
        if job is None:
            return False
        claimed = self._spool.claimed(job, self._index)
        try:
            self._train(job, claimed)
        except TrainingFailed as failure:
            traceback.print_exc()  # to the log; the node gets only the sentence
            write_error(self._spool.error(job), str(failure))
        # Removed last, so that no job is lost: until it is answered, its claim remains.
        claimed.unlink(missing_ok=True)
        return True

    def _claim(self) -> str | None:
        for job in self._spool.waiting_jobs():
            try:
                self._spool.task(job).rename(self._spool.claimed(job, self._index))
            except FileNotFoundError:  # another worker was faster
                continue
            return job
        return None

    def _train(self, job: str, claimed: Path) -> None:
        result = run_task(_read(job, claimed), self._context)
        with self._spool.stats(self._index).open("a") as stats:
            stats.write(f"{result.host_seconds:.6f}\n")
        try:
            write_result(self._spool.result(job), job, result)
        except (OSError, ValueError) as error:
            raise TrainingFailed(f"job {job}: its result was not written: {error}") from error


def _read(job: str, claimed: Path) -> Task:
    try:
        return read_task(claimed)
    except (Refused, TypeError, ValueError) as error:
        raise TrainingFailed(f"job {job}: its task is unreadable: {error}") from error


def main() -> None:
    """Work until the spool's stop file appears or the parent has gone."""
    options = argument_parser("Train the jobs of a spool.", nice=0)
    options.add_argument("--index", type=int, required=True, help="this worker's number")
    arguments = options.parse_args()
    parent = ParentProcess(arguments.parent)
    os.nice(arguments.nice)
    torch.set_num_threads(1)
    spool = Spool(arguments.spool)
    context = TrainingContext.load(arguments.run)
    context.warm_up()
    spool.ready(arguments.index).touch()
    worker = Worker(spool, arguments.index, context)
    run_until_stopped(spool.stop_workers.exists, worker.step, parent)


if __name__ == "__main__":
    main()
