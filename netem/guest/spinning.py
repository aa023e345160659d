"""Finds a guest process that burns the processor for ever: no virtual time passes then.

Waiting for a worker's result also stops the guest's clock, and so does heavy traffic; neither keeps
the processor busy with one single process all the while.
"""

import contextlib
import re
import time
from pathlib import Path

import psutil

from netem.guest import mconsole

SECONDS = 60.0
_LOOK_SECONDS = 2.0
_BUSY_SHARE = 0.6  # of one core
_ONE_SHARE = 0.9  # of what all guest processes used


class SpinWatch:
    """Looks at the guest's host processes now and then: the guard, its kernel, and their stubs."""

    def __init__(self, guard: int, console: Path, log: Path) -> None:
        self._guard, self._console, self._log = psutil.Process(guard), console, log
        self._looked = time.monotonic()
        self.reset()

    def reset(self) -> None:
        """Something happened: start counting again at the next look (looking is not free)."""
        self._before: tuple[float, dict[int, float]] | None = None

    def spinning(self) -> str | None:
        """The name of a process that has burned the processor for too long, if there is one."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return None
        self._looked = now
        kernel, processes = self._used()
        if self._before is None:
            self._since, self._before = now, (kernel, processes)
            return None
        spent = [cpu - self._before[1].get(pid, 0.0) for pid, cpu in processes.items()]
        total = kernel - self._before[0] + sum(spent)
        busy = total > _BUSY_SHARE * (now - self._since)
        if not busy or max(spent, default=0.0) < _ONE_SHARE * sum(spent):
            self.reset()
        elif now - self._since > SECONDS:
            return self._name()
        return None

    def _used(self) -> tuple[float, dict[int, float]]:
        """Processor seconds of the guest's kernel, and of each of its processes."""
        kernel, processes = 0.0, {}
        try:
            for process in self._guard.children(recursive=True):
                spent = process.cpu_times()
                if process.ppid() == self._guard.pid:
                    kernel += spent.user + spent.system
                else:
                    processes[process.pid] = spent.user + spent.system
        except psutil.Error:
            pass  # it is just ending
        return kernel, processes

    def _name(self) -> str:
        """Which process it is: the guest's kernel names it in its last words, so it has to go."""
        with contextlib.suppress(OSError):
            mconsole.ask(self._console, "sysrq c")
        named = re.findall(r"PID: \d+ Comm: (\S+)", self._log.read_text(errors="replace"))
        return named[-1] if named else "a guest process"
