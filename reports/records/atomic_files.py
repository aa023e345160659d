"""Files that are either the old ones or the complete new ones, never half of each."""

import os
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Write aside, then rename."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes) -> None:
    """Write aside, then rename."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_bytes(data)
    os.replace(aside, path)
