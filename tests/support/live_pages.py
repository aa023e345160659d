"""The live view of directories, as a test asks it."""

import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.live import LiveView


@contextmanager
def served(directories: Sequence[Path]) -> Iterator[str]:
    """The address at which they are shown."""
    said: list[str] = []
    with LiveView(0).showing(directories, said.append):
        yield said[0].removeprefix("live: ")


def fresh(address: str, seen: str = "") -> dict[str, Any]:
    """What a page would be told that knows of that stamp."""
    with urllib.request.urlopen(f"{address}fresh?seen={seen}", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
