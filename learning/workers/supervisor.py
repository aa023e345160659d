"""The pool of workers on the host: starts them, replaces those that die, and ends them."""

import contextlib
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from contracts.trained import Counts
from learning.workers.started_process import StartedProcess
from learning.workers.task_files import write_error

# How long a worker may take to end when it is asked to, and when it is terminated. By then, nobody
# needs what it does.
_ASKED_SECONDS = _TERMINATED_SECONDS = 2.0
# One thread each: there is a worker per core.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class PoolBroken(Exception):
    """Workers fail to start; the message contains the end of their log."""


@dataclass(slots=True)
class _Worker:
    """A worker's process, and the size of its statistics when it started."""

    index: int
    process: StartedProcess
    stats_start: int
    idle_deaths: int = 0  # consecutive deaths at this index without taking a job


class WorkerPool:
    """Runs worker processes, typically one per core; a job whose worker dies is tried once more.

    Start it from the main thread: the kernel ends the workers with the thread that started them.
    """

    def __init__(
        self,
        run_dir: Path,
        spool: Spool,
        workers: int,
        python: str = sys.executable,
        nice: int = 0,
    ) -> None:
        self._run_dir = run_dir.resolve()
        self.spool = Spool(spool.root.resolve())
        self._count = workers
        self._python = python
        self._nice = nice
        self._workers: list[_Worker] = []
        self._died_once: set[str] = set()

    def start(self) -> None:
        """Start the workers; they load their data while the caller goes on."""
        self.spool.create()
        self.spool.stop_workers.unlink(missing_ok=True)
        self._workers = [self._launch(index) for index in range(self._count)]

    def pids(self) -> list[int]:
        """Return the workers' process ids, by index."""
        return [worker.process.pid for worker in self._workers]

    def check(self) -> None:
        """Replace workers that died. Call this a few times a second; it does not wait."""
        for position, worker in enumerate(self._workers):
            if worker.process.alive():
                continue
            claims = self.spool.claims(worker.index)
            for job in claims:
                self._give_back(job, worker)
            idle = not claims and _size(self.spool.stats(worker.index)) == worker.stats_start
            idle_deaths = worker.idle_deaths + 1 if idle else 0
            if idle_deaths == 2:
                why = worker.process.cause_of_death()
                raise PoolBroken(f"worker {worker.index} does not start: {why}")
            self._workers[position] = self._launch(worker.index)
            self._workers[position].idle_deaths = idle_deaths

    def replace(self, index: int) -> None:
        """End a worker that does not get on, through no fault of its job, and start another one."""
        worker = self._workers[index]
        worker.process.kill()
        for job in self.spool.claims(index):
            self._put_back(job, worker)
        self._workers[index] = self._launch(index)

    def ready(self) -> bool:
        """Return whether every worker has loaded its data."""
        return all(self.spool.ready(worker.index).exists() for worker in self._workers)

    def stop(self) -> None:
        """End all workers: ask them to stop, then terminate, then kill."""
        with contextlib.suppress(OSError):  # the disk may be full, or the spool gone
            self.spool.stop_workers.touch()
            self._join(_ASKED_SECONDS)
        for worker in self._workers:
            if worker.process.alive():
                worker.process.process.terminate()
        self._join(_TERMINATED_SECONDS)
        for worker in self._workers:
            worker.process.kill()
        self._workers = []

    def busy_seconds(self) -> float:
        """Return the host seconds that all workers together have spent on their jobs."""
        return sum(float(line.split()[0]) for line in self._stats())

    def counts(self) -> Counts:
        """Return how many jobs were trained, and how many were remembered."""
        return Counts.of(self._stats())

    def _stats(self) -> list[str]:
        files = [self.spool.stats(index) for index in range(self._count)]
        return [line for file in files if file.exists() for line in file.read_text().splitlines()]

    def _launch(self, index: int) -> _Worker:
        log = RunDirectory(self._run_dir).worker_log(index)
        log.parent.mkdir(exist_ok=True)
        command = [self._python, "-m", "learning.workers.worker", "--index", str(index)]
        command += ["--run", str(self._run_dir), "--spool", str(self.spool.root)]
        command += ["--nice", str(self._nice)]
        process = StartedProcess(command, log, _ENVIRONMENT)
        return _Worker(index, process, _size(self.spool.stats(index)))

    def _give_back(self, job: str, worker: _Worker) -> None:
        claimed = self.spool.claimed(job, worker.index)
        if job not in self._died_once:
            self._died_once.add(job)
            self._put_back(job, worker)
            return
        if not self._answered(job):
            why = worker.process.cause_of_death()
            reason = f"job {job} failed: its worker died twice, at last {why}"
            write_error(self.spool.error(job), reason)
        claimed.unlink()

    def _put_back(self, job: str, worker: _Worker) -> None:
        claimed = self.spool.claimed(job, worker.index)
        if self._answered(job):
            claimed.unlink()  # it died after answering, before removing its claim
        else:
            claimed.rename(self.spool.task(job))

    def _answered(self, job: str) -> bool:
        return self.spool.result(job).exists() or self.spool.error(job).exists()

    def _join(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for worker in self._workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.process.wait(max(0.0, deadline - time.monotonic()))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
