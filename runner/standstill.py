"""Finds processes of a run that do not get on: stopped, idle with work to do, or at it for ever.

A process that computes, waits for the processor or for a disk is slow, which may take half a day.
"""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

STOPPED_SECONDS = 30.0
# Many times longer than anybody takes to begin; `slower` stretches it where the start-up was long.
IDLE_SECONDS = 300.0
_TIMES_START_UP = 10.0
LONGEST_SECONDS = 12 * 3600.0  # for one piece of work
_LOOK_SECONDS = 1.0
# Between two looks no more passes than this: the runner may have been stopped, or the machine.
_LONGEST_STEP = 5.0
_BUSY_SHARE = 0.01  # of the time; who only waits for work, looking for it often, uses a little
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Watched:
    """A process to look at, and the name of the work that it has to do; empty if it has none."""

    name: str
    pid: int
    work: str


@dataclass(frozen=True)
class Stalled:
    """A process that does not get on, and how that shows."""

    watched: Watched
    how: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.watched.name} (process {self.watched.pid}) {self.how} for {self.seconds:.0f} s"
        )


@dataclass
class _Seen:
    """What was seen of a process so far, and for how long."""

    wanted: float
    work: str
    stopped: float = 0.0
    idle: float = 0.0
    working: float = 0.0


class Standstill:
    """Looks at processes now and then; time counts only while this process runs itself."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._looked = time.monotonic()
        self._idle_limit = IDLE_SECONDS

    def slower(self, start_up_seconds: float) -> None:
        """Have more patience on a machine on which the start-up took long."""
        self._idle_limit = max(IDLE_SECONDS, _TIMES_START_UP * start_up_seconds)

    def due(self) -> bool:
        """Return whether it is time for another look."""
        return time.monotonic() - self._looked >= _LOOK_SECONDS

    def look(self, processes: Iterable[Watched]) -> Iterator[Stalled]:
        """Yield those that have stood still for too long; each is then looked at anew."""
        now = time.monotonic()
        step, self._looked = min(now - self._looked, _LONGEST_STEP), now
        before, self._seen = self._seen, {}
        for watched in processes:
            found = _state(watched.pid)
            if found is None:
                continue  # it has ended, which others notice
            seen = before.get(watched.pid) or _Seen(found[1], watched.work)
            stalled = self._judge(watched, *found, seen, step)
            if stalled is None:
                self._seen[watched.pid] = seen
            else:
                yield stalled

    def _judge(
        self, watched: Watched, state: str, wanted: float, seen: _Seen, step: float
    ) -> Stalled | None:
        used, seen.wanted = wanted - seen.wanted, wanted
        if watched.work != seen.work:  # it has got on
            seen.work, seen.idle, seen.working = watched.work, 0.0, 0.0
        seen.stopped = seen.stopped + step if state == "T" else 0.0
        idle = watched.work and state == "S" and used < _BUSY_SHARE * step
        seen.idle = seen.idle + step if idle else 0.0
        seen.working = seen.working + step if watched.work else 0.0
        if seen.stopped > STOPPED_SECONDS:
            return Stalled(watched, "was stopped by a signal", seen.stopped)
        if seen.idle > self._idle_limit:
            return Stalled(watched, "did nothing, with work to do,", seen.idle)
        if seen.working > LONGEST_SECONDS:
            return Stalled(watched, "was at the same work", seen.working)
        return None


def _state(pid: int) -> tuple[str, float] | None:
    """Return a process's state and the seconds that it ran or waited for a processor."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ran = (int(fields[11]) + int(fields[12])) / _TICKS
        waited = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None
    return fields[0], ran + waited
