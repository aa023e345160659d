"""Bounds what a block may take: time, and memory beyond what its process has already."""

import contextlib
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_BUSY = 20  # a machine that does much else takes so many times a block's own time


class TookTooLong(BaseException):
    """No `except Exception` of the code under test may swallow it."""


@contextlib.contextmanager
def bounded(seconds: float, megabytes: int) -> Iterator[None]:
    """Raise TookTooLong after that time of the processor, and MemoryError beyond that more memory.

    A block that only waits gets many times as long.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"still at work after {seconds} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (megabytes << 20)
    before = resource.getrlimit(resource.RLIMIT_AS)
    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, seconds),
        (signal.ITIMER_REAL, signal.SIGALRM, seconds * _BUSY),
    )
    handlers = [signal.signal(number, end) for _, number, _ in timers]
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    for timer, _, after in timers:
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(timers, handlers, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)
