"""A queue of actions, each with the time at which it is due."""

import heapq
import itertools
import time
from collections.abc import Callable

_LONGEST_WAIT = 3600.0  # seconds: the kernel's timers cannot hold arbitrary times


class Schedule:
    """Runs actions when they are due; times are seconds from time zero.

    Actions of one time run in the order in which they were added. They are late by less than a
    timer's millisecond.
    """

    def __init__(self) -> None:
        self._zero: float | None = None
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def begin(self, zero: float) -> None:
        """Set time zero, on the clock that the processes read; nothing is due before."""
        self._zero = zero

    def now(self) -> float:
        """Return the seconds since time zero."""
        return time.monotonic() - (self._zero or 0.0)

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Have an action run at that moment."""
        heapq.heappush(self._queue, (moment, next(self._order), action))

    def seconds_left(self) -> float | None:
        """Return the seconds until the next action; None if there is none, or no time zero yet."""
        if self._zero is None or not self._queue:
            return None
        return min(max(0.0, self._queue[0][0] - self.now()), _LONGEST_WAIT)

    def advance(self) -> None:
        """Run all actions that are due."""
        while self._zero is not None and self._queue and self._queue[0][0] <= self.now():
            heapq.heappop(self._queue)[2]()
