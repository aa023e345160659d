"""Finds a guest process that keeps the processor busy for ever, so that no virtual time passes.

Waiting for a worker's result also stops the guest's clock, and so does heavy traffic. But neither
keeps the processor busy with a single process all the time.
"""

import contextlib
import re
import time
from pathlib import Path

import psutil

from netem.guest import mconsole

LIMIT_SECONDS = 60.0
_LOOK_SECONDS = 2.0
_BUSY_SHARE = 0.6  # of one core
_ONE_SHARE = 0.9  # of what all guest processes used


class SpinWatch:
    """Looks now and then at the host's processes of a guest: the kernel, and one per guest process.

    The runner asks `spinning_process` regularly, and calls `reset` when it knows why time stands.
    """

    def __init__(self, guard: int, console: Path, log: Path) -> None:
        self._guard, self._console, self._log = psutil.Process(guard), console, log
        self._looked = time.monotonic()
        self.reset()

    def reset(self) -> None:
        """Start counting again at the next look."""
        self._before: tuple[float, dict[int, float]] | None = None

    def spinning_process(self) -> str | None:
        """Return the name of a process that has been spinning for too long; None when none has."""
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
        elif now - self._since > LIMIT_SECONDS:
            return self._name()
        return None

    def _used(self) -> tuple[float, dict[int, float]]:
        """Return the processor seconds of the guest's kernel, and of each guest process."""
        kernel, processes = 0.0, {}
        try:
            for process in self._guard.children(recursive=True):
                spent = process.cpu_times()
                if process.ppid() == self._guard.pid:
                    kernel += spent.user + spent.system
                else:
                    processes[process.pid] = spent.user + spent.system
        except psutil.Error:
            pass  # the guest is just ending
        return kernel, processes

    def _name(self) -> str:
        """Find out which process it is by crashing the guest's kernel, whose last words name it."""
        with contextlib.suppress(OSError):
            mconsole.ask(self._console, "sysrq c")
        named = re.findall(r"PID: \d+ Comm: (\S+)", self._log.read_text(errors="replace"))
        return named[-1] if named else "a guest process"
