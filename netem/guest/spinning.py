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

# A start-up is a single process for long: it imports, then forks every node. A thousand nodes have
# taken two minutes for that on two good cores, and the imports alone more than one under QEMU.
START_UP_SECONDS = 1800.0
# In training no process computes for long, and the start-up has shown how slow this machine is.
SHORTEST_SECONDS = 60.0
_TIMES_START_UP = 10.0
_LOOK_SECONDS = 2.0
_NAMING_SECONDS = 60.0  # for the guest's kernel to say its last words
_BUSY_SHARE = 0.6  # of the time
_ONE_SHARE = 0.9  # of what all guest processes used


class SpinWatch:
    """Looks now and then at the host's processes of a guest: the kernel, and one per guest process.

    The runner asks `spinning_process` regularly, calls `reset` when it knows why time stands, and
    `training_began` at the end of the start-up. `limit` is how long a process may spin.
    """

    def __init__(self, guard: int, console: Path, log: Path) -> None:
        self._guard, self._console, self._log = psutil.Process(guard), console, log
        self._looked = time.monotonic()
        self.limit = START_UP_SECONDS
        self.reset()

    def training_began(self, start_up_seconds: float) -> None:
        """From now on a process that spins is found sooner; on a slow machine not as soon."""
        self.limit = max(SHORTEST_SECONDS, _TIMES_START_UP * start_up_seconds)
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
        kernel, processes = self._wanted()
        if self._before is None:
            self._since, self._before = now, (kernel, processes)
            return None
        spent = [seconds - self._before[1].get(pid, 0.0) for pid, seconds in processes.items()]
        total = kernel - self._before[0] + sum(spent)
        busy = total > _BUSY_SHARE * (now - self._since)
        if not busy or max(spent, default=0.0) < _ONE_SHARE * sum(spent):
            self.reset()
        elif now - self._since > self.limit:
            return self._name()
        return None

    def _wanted(self) -> tuple[float, dict[int, float]]:
        """Return how many seconds the guest's kernel, and each guest process, wanted to run."""
        kernel, processes = 0.0, {}
        with contextlib.suppress(psutil.Error):  # the guest may just be ending
            for process in self._guard.children(recursive=True):
                seconds = _seconds_wanted(process)
                if process.ppid() == self._guard.pid:
                    kernel += seconds
                else:
                    processes[process.pid] = seconds
        return kernel, processes

    def _name(self) -> str:
        """Find out which process it is by crashing the guest's kernel, whose last words name it."""
        with contextlib.suppress(OSError):
            mconsole.tell(self._console, "sysrq c")
        deadline = time.monotonic() + _NAMING_SECONDS
        while time.monotonic() < deadline:
            words = self._log.read_text(errors="replace")
            if named := re.findall(r"PID: \d+ Comm: (\S+)\s", words):
                return str(named[-1])
            time.sleep(0.1)
        return "a guest process"


def _seconds_wanted(process: psutil.Process) -> float:
    """Return how long a process ran or was ready to run.

    On a busy host, or one that gives us a part of a core, a process that spins runs seldom.
    """
    try:
        ran, waited, _ = Path(f"/proc/{process.pid}/schedstat").read_text().split()
        return (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):  # this kernel does not count the waiting
        spent = process.cpu_times()
        return float(spent.user + spent.system)
