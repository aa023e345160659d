"""Waits, with a bound, for something that happens in another process or thread."""

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool],
    seconds: float = 120,
    every: float = 0.1,
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Check the condition every so many seconds, and call `meanwhile` after each failed check."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        if meanwhile:
            meanwhile()
        time.sleep(every)
