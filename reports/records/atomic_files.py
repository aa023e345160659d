"""Files that are either the old ones or the complete new ones, never half of each."""

import os
from pathlib import Path


def write_text_atomically(path: Path, text: str) -> None:
    """Write aside, then rename."""
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Write aside, then rename."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_bytes(data)
    os.replace(aside, path)
