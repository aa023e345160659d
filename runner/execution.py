"""Executes a prepared run: starts workers, evaluator and network, follows them, cleans up."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, Protocol

from contracts import status
from contracts.project import ROOT
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from contracts.status import Status
from learning.workers.supervisor import PoolBroken, WorkerPool
from netem import backends
from netem.guest import spinning
from netem.guest.spinning import SpinWatch
from netem.spool import LockedSpool, room_needed
from runner.json_lines import tail
from runner.preparation import PreparedRun, worker_count

_POLL_SECONDS = 0.1
_WORKERS_NICE = 5
_GRACE_SECONDS = 3.0  # for a launcher that has said how it ended to end by itself
_EVALUATION_SECONDS = 600.0  # for one model
_DISSIMILARITY_SECONDS = 7200.0  # where gradients over all training samples may be measured too


class RunFailed(Exception):
    """The run ended early; the message is the cause, in one sentence."""


class Display(Protocol):
    """What shows the progress of a run."""

    def status(self, record: Status) -> None:
        """Show how far the network and the nodes have come."""

    def evaluating(self) -> None:
        """Show that training is over and the last models are being evaluated."""

    def evaluation(self, line: dict[str, Any]) -> None:
        """Show the scores of a model that was evaluated."""

    def tick(self) -> None:
        """Refresh what is shown; called several times a second."""


@dataclass
class HostTimes:
    """Host seconds of starting up, of training, and of work in the pool; None if not reached."""

    startup: float | None = None
    training: float | None = None
    pool: float | None = None


class Runner:
    """Executes one run, and stops and removes all it started, however the run ends.

    Afterwards `lost` names the nodes that were given up, and `host` says where host time went.
    """

    def __init__(self, prepared: PreparedRun, backend: backends.Backend, display: Display) -> None:
        self._prepared, self._backend, self._display = prepared, backend, display
        self._run_dir = prepared.run_dir
        self._files = RunDirectory(prepared.run_dir)
        self.lost: list[str] = []
        self.host = HostTimes()

    def run(self, interactive: bool = False) -> None:
        """Execute the run; RunFailed with the cause if a node, worker, link or guest fails.

        `interactive` opens Mininet's command line before training.
        """
        self._mark = time.monotonic()
        spool = LockedSpool(self._prepared.plan.run, room_needed(self._prepared.plan))
        # On the wall clock the network has priority: its timers are what is measured.
        nice = _WORKERS_NICE if self._prepared.plan.clock == "wall" else 0
        workers = worker_count(self._prepared.scenario)
        pool = WorkerPool(self._run_dir, spool, workers, nice=nice)
        evaluator: subprocess.Popen[bytes] | None = None
        launcher: subprocess.Popen[bytes] | None = None
        try:
            if self._prepared.plan.trainer == "pool":
                pool.start()
            evaluator = self._start_evaluator(spool)
            log = self._files.network_log
            if interactive:
                spool.interactive.touch()
            launcher = self._backend.start(self._run_dir, spool, log, interactive)
            if not interactive:
                spool.remember_session(launcher.pid)
            self._follow(launcher, pool, spool)
            self.host.pool = pool.busy_seconds()
            self._finish_evaluations(evaluator, spool)
        except PoolBroken as error:
            raise RunFailed(str(error)) from None
        finally:
            # A second Ctrl-C must not interrupt the clean-up.
            ends = (signal.SIGINT, signal.SIGTERM)
            before = [signal.signal(number, signal.SIG_IGN) for number in ends]
            if launcher is not None:
                self._backend.end(launcher)
            if evaluator is not None:
                evaluator.kill()
                evaluator.wait()
            pool.stop()
            spool.remove()
            for number, handler in zip(ends, before, strict=True):
                signal.signal(number, handler)

    def _lap_seconds(self) -> float:
        """Host seconds since the last call."""
        before, self._mark = self._mark, time.monotonic()
        return self._mark - before

    def _start_evaluator(self, spool: Spool) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "learning.evaluation.evaluator"]
        command += [
            "--run",
            str(self._run_dir),
            "--spool",
            str(spool.root),
            "--parent",
            str(os.getpid()),
        ]
        with self._files.evaluator_log.open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _follow(self, launcher: "subprocess.Popen[bytes]", pool: WorkerPool, spool: Spool) -> None:
        """Follow the launcher until it is done; RunFailed when it failed or is gone."""
        lines = tail(spool.status)
        evaluations = tail(self._files.evaluations)
        watch = self._backend.watch(launcher, spool, self._files.network_log)
        while True:
            gone = launcher.poll() is not None
            if watch is not None:
                self._check_for_spinning(watch, pool)
            for record in map(status.parse, lines()):
                if isinstance(record, status.Training):
                    self.host.startup = self._lap_seconds()
                if isinstance(record, status.Done | status.Failed):
                    self.host.training = self._lap_seconds()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        launcher.wait(_GRACE_SECONDS)
                if isinstance(record, status.Done):
                    return
                if isinstance(record, status.Failed):
                    raise RunFailed(record.error)
                if isinstance(record, status.NodeLost):
                    self.lost.append(record.node)
                self._display.status(record)
            for line in evaluations():
                self._display.evaluation(line)
            if gone:
                raise RunFailed(self._describe_early_end(launcher))
            pool.check()
            if not spool.workers_ready.exists() and pool.ready():
                spool.workers_ready.touch()
            self._display.tick()
            time.sleep(_POLL_SECONDS)

    def _check_for_spinning(self, watch: SpinWatch, pool: WorkerPool) -> None:
        if any(pool.spool.jobs.iterdir()):
            watch.reset()  # the guest may be waiting for these
        elif name := watch.spinning_process():
            raise RunFailed(
                f"{name}: burned the processor for {spinning.LIMIT_SECONDS:g} s without waiting, "
                "so that no virtual time passes; it must wait with poll, sleep or a socket"
            )

    def _finish_evaluations(self, evaluator: "subprocess.Popen[bytes]", spool: Spool) -> None:
        """Wait until the last models are evaluated, as long as the evaluator makes progress."""
        spool.stop_evaluator.touch()
        self._display.evaluating()
        lines = tail(self._files.evaluations)
        gradients = self._prepared.scenario.task.dissimilarity_every is not None
        patience = _DISSIMILARITY_SECONDS if gradients else _EVALUATION_SECONDS
        deadline = time.monotonic() + patience
        while (code := evaluator.poll()) is None:
            if any(True for _ in lines()):
                deadline = time.monotonic() + patience
            if time.monotonic() > deadline:
                raise RunFailed("the evaluator did not get on; see logs/evaluator.log")
            self._display.tick()
            time.sleep(_POLL_SECONDS)
        if code != 0:
            raise RunFailed(f"the evaluator ended with code {code}; see logs/evaluator.log")

    def _describe_early_end(self, launcher: "subprocess.Popen[bytes]") -> str:
        log = self._files.network_log
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        last = lines[-1] if lines else "it said nothing"
        where = f"{self._backend.name} network ended by itself (code {launcher.returncode})"
        return f"the {where}: {last}; see {log}"
