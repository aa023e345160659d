"""Bounds what a block may take: time, and memory beyond what its process has already."""

import contextlib
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


class TookTooLong(BaseException):
    """No `except Exception` of the code under test may swallow it."""


@contextlib.contextmanager
def bounded(seconds: float, megabytes: int) -> Iterator[None]:
    """Raise TookTooLong after that time, and MemoryError beyond that much more memory."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"still at work after {seconds} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGALRM, end)
    most = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)
