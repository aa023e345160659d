"""Executes a prepared run: starts workers, evaluator and network, follows them, cleans up."""

import contextlib
import errno
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from contracts import status, storage
from contracts.run_directory import RunDirectory
from contracts.spool import ROUNDS_BEHIND, Spool
from contracts.status import Status
from contracts.trained import Counts
from learning.evaluation.supervisor import EvaluatorSupervisor
from learning.training.run_data import learning_settings
from learning.user_cache import cache_dir
from learning.workers.supervisor import WorkerPool
from netem import backends
from netem.guest.spinning import SpinWatch
from netem.spool import LockedSpool, room_needed
from runner.json_lines import tail
from runner.preparation import PreparedRun
from runner.storage_watch import StorageWatch
from runner.watchdog import EvaluatorBroken, NetworkStalled, PoolBroken, Watchdog

_POLL_SECONDS = 0.1
_WORKERS_NICE = 5
_GRACE_SECONDS = 3.0  # for a launcher that has said how it ended: all its records are written
# These only matter when something hangs, since a process that dies is noticed at once: long enough
# for a machine that takes minutes where others take seconds.
_WORKERS_SECONDS = 1800.0  # until all workers have loaded torch and the data
_EVALUATION_SECONDS = 7200.0  # for one model
_DISSIMILARITY_SECONDS = 12 * 3600.0  # where gradients over all training samples are measured too


class RunFailed(Exception):
    """The run ended early; the message is the cause, in one sentence."""


class Display(Protocol):
    """What shows the progress of a run."""

    def note(self, sentence: str) -> None:
        """Show something that the user should know."""

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

    Afterwards `lost` names the nodes that were given up, `host` says where host time went,
    `trainings` and `evaluations` how many of them were remembered, and `records` where the run's
    directory is, should somebody have renamed it; None if it is gone.
    """

    def __init__(
        self, prepared: PreparedRun, backend: backends.Backend, display: Display, workers: int
    ) -> None:
        self._prepared, self._backend, self._display = prepared, backend, display
        self._workers = workers
        self._run_dir = prepared.run_dir
        self._files = RunDirectory(prepared.run_dir)
        self._evaluations = tail(self._files.evaluations)
        self._told = False  # that something is wrong with the store
        self.lost: list[str] = []
        self.host = HostTimes()
        self.trainings = self.evaluations = Counts()
        self.records: Path | None = prepared.run_dir

    def run(self, interactive: bool = False, captures: Sequence[str] = ()) -> None:
        """Execute the run; RunFailed with the cause if a node, worker, link or guest fails.

        `interactive` opens Mininet's command line before training. `captures` are links whose
        packets are kept.
        """
        self._mark = time.monotonic()
        spool = LockedSpool(self._prepared.plan.run, room_needed(self._prepared.plan))
        # On the wall clock the network has priority: its timers are what is measured.
        nice = _WORKERS_NICE if self._prepared.plan.clock == "wall" else 0
        pool = WorkerPool(self._run_dir, spool, self._workers, nice=nice)
        evaluator = EvaluatorSupervisor(self._run_dir, spool)
        never_idle = self._prepared.plan.clock == "virtual" and not interactive
        watchdog = Watchdog(pool, evaluator, spool, never_idle, self._display.note)
        places = StorageWatch(self._run_dir, spool.root, self._backend.memory_at())
        launcher: subprocess.Popen[bytes] | None = None
        try:
            if self._prepared.plan.trainer == "pool":
                pool.start()
            evaluator.start()
            log = self._files.network_log
            if interactive:
                spool.interactive.touch()
            if self._prepared.plan.encryption:
                spool.leave_secret()
            if captures:
                spool.captures.write_text("\n".join(captures))
            readable = self._readable()
            launcher = self._backend.start(self._run_dir, spool, log, interactive, readable)
            if not interactive:
                spool.remember_session(launcher.pid)
            watchdog.network_started(launcher.pid)
            self._follow(launcher, pool, watchdog, places, spool)
            self.host.pool = pool.busy_seconds()
            self._finish_evaluations(evaluator, watchdog, places, spool)
        except (RunFailed, PoolBroken, EvaluatorBroken, NetworkStalled) as error:
            raise RunFailed(places.trouble() or str(error)) from None
        except OSError as error:
            raise RunFailed(places.trouble() or storage.describe(error)) from None
        finally:
            # A second Ctrl-C must not interrupt the clean-up.
            ends = (signal.SIGINT, signal.SIGTERM)
            before = [signal.signal(number, signal.SIG_IGN) for number in ends]
            if launcher is not None:
                self._backend.end(launcher)
            evaluator.stop()
            pool.stop()
            self._count(pool, spool)
            spool.remove()
            self.records = places.run_directory()
            places.close()
            for number, handler in zip(ends, before, strict=True):
                signal.signal(number, handler)

    def _lap_seconds(self) -> float:
        """Host seconds since the last call."""
        before, self._mark = self._mark, time.monotonic()
        return self._mark - before

    def _readable(self) -> list[Path]:
        """Return what nodes that train themselves read: data, and what was compiled."""
        if self._prepared.plan.trainer == "pool":
            return []
        given = learning_settings(self._run_dir)["data_dir"]
        found = [cache_dir() / "data", cache_dir() / "native", *Path("/dev").glob("nvidia*")]
        return [*found, Path(given)] if given else found

    def _count(self, pool: WorkerPool, spool: Spool) -> None:
        """Take down how much was remembered, before the spool goes."""
        with contextlib.suppress(OSError):
            self.trainings = pool.counts()
            self.evaluations = Counts.of(spool.evaluator_stats.read_text().splitlines())
        self._tell_of_trouble(spool)

    def _tell_of_trouble(self, spool: Spool) -> None:
        """Say once why nothing more is remembered, if that is so."""
        if not self._told and spool.store_trouble.exists():
            self._told = True
            self._display.note(f"{spool.store_trouble.read_text()}; the run goes on without it")

    def _follow(
        self,
        launcher: "subprocess.Popen[bytes]",
        pool: WorkerPool,
        watchdog: Watchdog,
        places: StorageWatch,
        spool: Spool,
    ) -> None:
        """Follow the launcher until it is done; RunFailed when it failed or is gone."""
        lines, began = tail(spool.status), time.monotonic()
        watch = self._backend.watch(launcher, spool, self._files.network_log)
        while True:
            gone = launcher.poll() is not None
            if watch is not None:
                self._check_for_spinning(watch, spool)
            self._show_evaluations()
            for record in map(status.parse, lines()):
                if watch is not None:
                    watch.reset()  # the launcher got on: nothing is spinning
                if isinstance(record, status.Training):
                    self.host.startup = self._lap_seconds()
                    watchdog.training_began(self.host.startup)
                    if watch is not None:
                        watch.training_began(self.host.startup)
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
            if gone:
                raise RunFailed(self._describe_early_end(launcher))
            if trouble := places.trouble():
                raise RunFailed(trouble)
            watchdog.check()
            self._tell_of_trouble(spool)
            if not spool.workers_ready.exists():
                self._check_for_workers(pool, spool, time.monotonic() - began)
            self._display.tick()
            time.sleep(_POLL_SECONDS)

    def _check_for_workers(self, pool: WorkerPool, spool: Spool, seconds: float) -> None:
        """Tell the launcher when the workers are ready; it waits as long as we let it."""
        if pool.ready():
            spool.workers_ready.touch()
        elif seconds > _WORKERS_SECONDS:
            raise RunFailed(
                f"the workers were not ready after {_WORKERS_SECONDS:g} s; see logs/worker-0.log"
            )

    def _check_for_spinning(self, watch: SpinWatch, spool: Spool) -> None:
        plan, models = self._prepared.plan, len(spool.models_to_evaluate())
        awaited = models >= (ROUNDS_BEHIND * len(plan.tops) if plan.stop_at is None else 1)
        if not spool.workers_ready.exists() or any(spool.jobs.iterdir()) or awaited:
            watch.reset()  # the guest may be waiting for these, and does so without a pause
        elif name := watch.spinning_process():
            raise RunFailed(
                f"{name}: burned the processor for {watch.limit:.0f} s without waiting, "
                "so that no virtual time passes; it must wait with poll, sleep or a socket"
            )

    def _show_evaluations(self) -> bool:
        """Show the models that were evaluated since the last call; return whether any were."""
        lines = list(self._evaluations())
        for line in lines:
            self._display.evaluation(line)
        return bool(lines)

    def _finish_evaluations(
        self,
        evaluator: EvaluatorSupervisor,
        watchdog: Watchdog,
        places: StorageWatch,
        spool: Spool,
    ) -> None:
        """Wait until the last models are evaluated, as long as the evaluator makes progress."""
        spool.stop_evaluator.touch()
        self._display.evaluating()
        gradients = self._prepared.scenario.task.dissimilarity_every is not None
        patience = _DISSIMILARITY_SECONDS if gradients else _EVALUATION_SECONDS
        deadline = time.monotonic() + patience
        while not evaluator.finished():
            if trouble := places.trouble():
                raise RunFailed(trouble)
            watchdog.check()
            if self._show_evaluations():
                deadline = time.monotonic() + patience
            if time.monotonic() > deadline:
                raise RunFailed("the evaluator did not get on; see logs/evaluator.log")
            self._display.tick()
            time.sleep(_POLL_SECONDS)
        self._show_evaluations()
        self._display.tick()

    def _describe_early_end(self, launcher: "subprocess.Popen[bytes]") -> str:
        log, code = self._files.network_log, launcher.returncode
        if self._backend.memory_at() is not None and code == errno.ENOSPC:
            return (
                f"{self._backend.memory_at()}: no room was left for the guest's memory; somebody "
                "else has filled it; free some, or set TMPDIR to a directory with room"
            )
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        last = lines[-1] if lines else "it said nothing"
        how = f"was ended by signal {-code}, {signal.strsignal(-code)}" if code < 0 else "ended"
        by_itself = "" if code < 0 else f" by itself (code {code})"
        return f"the {self._backend.name} network {how}{by_itself}: {last}; see {log}"
