"""Plug-ins that tests write and bring."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from cli.plugins import bring
from contracts import plugins
from contracts.project import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def nothing_brought(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No plug-in of another test, of the environment or of this test is left behind."""
    monkeypatch.delenv("METRONOME_PLUGINS", raising=False)
    plugins.forget()
    yield
    plugins.forget()


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    """Write a plug-in, with its lines numbered from 1 as they stand in `text`."""
    file = folder / name
    file.write_text(dedent(text).lstrip("\n"))
    return file


def bring_text(folder: Path, text: str, name: str = "mine.py") -> Path:
    """Write a plug-in and bring it, as `--plugin` would."""
    file = write(folder, text, name)
    bring([str(file)])
    return file
