"""One worker of the pool, a process on the host.

python -m learning.workers.worker --run RUN --spool SPOOL --index I repeatedly takes the oldest job
in the spool, trains it and writes its result, until told to stop.
"""

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from contracts.spool import DONE, REMEMBERED, Spool
from contracts.storage import about
from contracts.training import Result, Task, TrainingFailed
from learning.remembering.memory import Lookup, Memory
from learning.workers.host_process import ParentProcess, argument_parser, run_until_stopped
from learning.workers.task_files import read_task, write_error, write_result
from protocols.wire import Refused

if TYPE_CHECKING:
    from learning.training.context import TrainingContext


class Worker:
    """Claims jobs in a spool one at a time and answers each with a result or an error.

    With a memory, it answers from there what was trained before. `context` loads what training
    needs on the first call.
    """

    def __init__(
        self,
        spool: Spool,
        index: int,
        context: Callable[[], "TrainingContext"],
        memory: Memory | None = None,
        on_training: Callable[[], None] = lambda: None,
    ) -> None:
        self._spool, self._index = spool, index
        self._context, self._memory, self._on_training = context, memory, on_training
        self._left_to_others: dict[str, Lookup] = {}  # jobs that another run is training

    def step(self) -> bool:
        """Do the oldest job that nobody else is doing; return whether there was one."""
        if self._spool.stop_workers.exists():
            return False
        return any(self._take(job) for job in self._spool.waiting_jobs())

    def _take(self, job: str) -> bool:
        """Answer this job, unless another worker was faster or its result is on its way."""
        sought = self._left_to_others.get(job)
        if sought is not None and not sought.claim():
            return False
        claimed = self._spool.claimed(job, self._index)
        try:
            self._spool.task(job).rename(claimed)
        except FileNotFoundError:  # another worker was faster
            return self._let_go(job, sought)
        try:
            answered = self._answer(job, claimed, sought)
        except TrainingFailed as failure:
            traceback.print_exc()  # to the log; the node gets only the sentence
            write_error(self._spool.error(job), str(failure))
            answered = True
        if answered:
            # Removed last, so that no job is lost: until it is answered, its claim remains.
            claimed.unlink(missing_ok=True)
        else:
            claimed.rename(self._spool.task(job))
        return answered

    def _let_go(self, job: str, sought: Lookup | None) -> bool:
        self._left_to_others.pop(job, None)
        if sought is not None:
            sought.release()
        return False

    def _answer(self, job: str, claimed: Path, sought: Lookup | None) -> bool:
        """Write the job's result, from memory or by training; False if it is left to others."""
        began = time.perf_counter()
        task = _read(job, claimed)
        if self._memory is None:
            self._write(job, self._train(task), DONE)
            return True
        sought = sought or _look_up(task, self._memory)
        ours, known = sought.claim(), sought.recall()
        if known is None and not ours:
            self._left_to_others[job] = sought
            return False
        try:
            if known is not None:
                known = replace(known, host_seconds=time.perf_counter() - began)
                self._write(job, known, REMEMBERED)
            else:
                result = self._train(task)
                self._write(job, result, DONE)
                # On the wall clock a job that waits must not wait for this one to be stored.
                if self._memory.waits or not self._spool.waiting_jobs():
                    sought.keep(result)
        finally:
            self._let_go(job, sought)
        return True

    def _train(self, task: Task) -> Result:
        context = self._context()
        from learning.training.job import run_task  # only now, as it takes torch with it

        result = run_task(task, context)
        self._on_training()
        return result

    def _write(self, job: str, result: Result, how: str) -> None:
        stats = self._spool.stats(self._index)
        try:
            with about(stats), stats.open("a") as file:
                file.write(f"{result.host_seconds:.6f} {how}\n")
            write_result(self._spool.result(job), job, result)
        except (OSError, ValueError) as error:
            raise TrainingFailed(f"job {job}: its result was not written: {error}") from error


def _look_up(task: Task, memory: Memory) -> Lookup:
    try:
        return memory.look_up(task)
    except (IndexError, TypeError, ValueError) as error:
        raise TrainingFailed(f"job {task.job} failed: {type(error).__name__}: {error}") from error


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
    spool = Spool(arguments.spool)
    memory = Memory.of_run(arguments.run, spool)

    @cache
    def context() -> "TrainingContext":
        from learning.training.context import TrainingContext

        loaded = TrainingContext.load(arguments.run)
        loaded.warm_up()
        return loaded

    @cache
    def remember_beginning() -> None:
        if memory is not None:
            memory.begin(arguments.run)

    # Where a run like this one was done before, torch is probably not needed at all. If it is after
    # all, the job that needs it waits for it: only on the virtual clock does that take no time.
    if memory is None or not memory.waits or not memory.has_begun(arguments.run):
        context()
    spool.ready(arguments.index).touch()
    worker = Worker(spool, arguments.index, context, memory, remember_beginning)
    run_until_stopped(spool.stop_workers.exists, worker.step, parent)


if __name__ == "__main__":
    main()
