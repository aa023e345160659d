"""Write files so that a reader sees either the old content or the complete new content."""

import contextlib
import os
from pathlib import Path

from contracts.storage import about


def write_text_atomically(path: Path, text: str) -> None:
    """Write text to a file beside it, then rename that file into place."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Write bytes to a file beside it, then rename that file into place."""
    aside = path.with_name(f".{path.name}.new")
    try:
        with about(path):
            aside.write_bytes(data)
            os.replace(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
