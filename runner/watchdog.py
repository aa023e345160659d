"""Keeps a run's processes on the host going: replaces those that die or do not get on.

What cannot be replaced, the network itself, ends the run, with the cause.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from contracts.spool import Spool
from learning.evaluation.supervisor import EvaluatorBroken, EvaluatorSupervisor
from learning.workers.supervisor import PoolBroken, WorkerPool
from runner.standstill import Stalled, Standstill, Watched

_WORKER, _EVALUATOR, _NETWORK = "worker", "the evaluator", "the network"

__all__ = ["EvaluatorBroken", "NetworkStalled", "PoolBroken", "Watchdog"]


class NetworkStalled(Exception):
    """The network's first process does not get on; the message says how that shows."""


class Watchdog:
    """Looks after workers, evaluator and network; the runner calls `check` several times a second.

    `never_idle` says that whatever runs in the network always computes, as on the virtual clock.
    """

    def __init__(
        self,
        pool: WorkerPool,
        evaluator: EvaluatorSupervisor,
        spool: Spool,
        never_idle: bool,
        note: Callable[[str], None],
    ) -> None:
        self._pool, self._evaluator, self._spool = pool, evaluator, spool
        self._never_idle, self._note = never_idle, note
        self._standstill = Standstill()
        self._launcher: int | None = None
        self._network: int | None = None  # the launcher's child: the guest's kernel

    def network_started(self, launcher: int) -> None:
        """Look after the network, too, whose launcher is this process."""
        self._launcher = launcher

    def training_began(self, start_up_seconds: float) -> None:
        """The start-up has shown how slow this machine is."""
        self._standstill.slower(start_up_seconds)

    def check(self) -> None:
        """Replace what died, and now and then what does not get on; it does not wait."""
        self._pool.check()
        if died := self._evaluator.check():
            self._note(f"{died}; another one goes on")
        if self._standstill.due():
            for stalled in self._standstill.look(self._watched()):
                self._deal_with(stalled)

    def _watched(self) -> Iterator[Watched]:
        for index, pid in enumerate(self._pool.pids()):
            yield Watched(f"{_WORKER} {index}", pid, " ".join(self._spool.claims(index)))
        if (evaluator := self._evaluator.pid) is not None:
            yield Watched(_EVALUATOR, evaluator, self._evaluator.next_model())
        if self._launcher is not None:
            self._network = self._network or _only_child(self._launcher)
        if self._network is not None:
            yield Watched(_NETWORK, self._network, self._reached() if self._never_idle else "")

    def _reached(self) -> str:
        """Name how far the network has got; every word of the launcher changes it."""
        status = self._spool.status
        return f"{status.stat().st_size} bytes" if status.exists() else "nothing"

    def _deal_with(self, stalled: Stalled) -> None:
        name = stalled.watched.name
        if name == _NETWORK:
            raise NetworkStalled(str(stalled))
        self._note(f"{stalled}; another one goes on")
        if name == _EVALUATOR:
            self._evaluator.replace(str(stalled))
        else:
            self._pool.replace(int(name.removeprefix(_WORKER)))


def _only_child(pid: int) -> int | None:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None
