"""Waiting for something that happens elsewhere, with a bound."""

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool],
    seconds: float = 120,
    every: float = 0.1,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Looks `every` so many seconds, and calls `meanwhile` after each look in vain."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        if meanwhile:
            meanwhile()
        time.sleep(every)
