"""Serves the live view to a test, and sends it the requests of a page."""

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.live import LiveView


@contextmanager
def served(directories: Sequence[Path]) -> Iterator[str]:
    """Serve these directories and yield the address."""
    said: list[str] = []
    with LiveView(0).showing(directories, said.append):
        yield said[0].removeprefix("live: ")


def fresh(address: str, seen: str = "") -> dict[str, Any]:
    """Return the answer to a page that has seen the data of that stamp."""
    with urllib.request.urlopen(f"{address}fresh?seen={seen}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
