"""For tests with sockets: free ports, deadlines, and threads whose exceptions are not lost."""

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Outcome = TypeVar("Outcome")

PATIENCE = 10.0  # seconds; far more than anything on this machine takes


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def soon(seconds: float = PATIENCE) -> float:
    """Return a deadline on the monotonic clock."""
    return time.monotonic() + seconds


def aside(work: Callable[[], Outcome]) -> "Future[Outcome]":
    """Call `work` in a daemon thread; the future has its result or exception."""
    future: Future[Outcome] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
