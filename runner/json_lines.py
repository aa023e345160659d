"""Reads a file of JSON lines while another process is writing it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def tail(path: Path) -> Callable[[], Iterator[dict[str, Any]]]:
    """Return a function that yields the complete lines added since its last call."""
    position = 0

    def read() -> Iterator[dict[str, Any]]:
        nonlocal position
        try:
            with path.open("rb") as file:
                file.seek(position)
                data = file.read()
        except FileNotFoundError:
            return
        end = data.rfind(b"\n") + 1
        position += end
        for line in data[:end].splitlines():
            yield json.loads(line)

    return read
