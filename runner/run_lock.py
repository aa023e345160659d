"""Whether a run goes on in a directory: its runner locks it for as long as it lives."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from contracts.errors import BadInput


@contextlib.contextmanager
def busy(run_dir: Path) -> Iterator[None]:
    """Lock a run's directory; BadInput if another process has done so."""
    directory = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"{run_dir}: this run is going on still; wait for its end, or end it first"
            ) from None
        yield
    finally:
        os.close(directory)
