"""Plug-ins that the command line or METRONOME_PLUGINS brings, checked before anything is done."""

import os
from collections.abc import Sequence
from pathlib import Path

from contracts import plugins
from scenarios.brought import check_brought

VARIABLE = "METRONOME_PLUGINS"


def bring(words: Sequence[str]) -> None:
    """Load what the options name, and then what the environment does."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    plugins.bring([*words, *filter(None, named)])
    check_brought()


def bring_anew(words: Sequence[str], copies: Path) -> None:
    """Load what the options name, and then a run's own copies of its other plug-ins."""
    plugins.bring(words)
    plugins.bring_copies(copies)
    check_brought()


def command_line() -> list[str]:
    """Return the options that bring the plug-ins of this process to another."""
    return [option for plugin in plugins.brought() for option in ("--plugin", plugin.word)]
