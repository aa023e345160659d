"""Errors of files and directories, told so that their reader knows which file it was."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def about(path: Path) -> Iterator[None]:
    """Have errors of this block name the file; the system names it on opening only."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def describe(error: OSError) -> str:
    """Say which file it was, and what was wrong with it."""
    what = os.strerror(error.errno).lower() if error.errno else str(error)
    return f"{error.filename}: {what}" if error.filename else what
