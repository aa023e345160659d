"""A place of a test's own for spools and guests' memory, so that nobody's real runs are touched."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from netem import places


@contextmanager
def only_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make an empty directory the only place; pytest's own have paths too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="place-") as folder:
        monkeypatch.setattr(places, "candidates", lambda: [Path(folder)])
        yield Path(folder)
