"""How far a run has come, in a small JSON file that the run keeps for the sweep that started it.

The sweep names the file in the environment (`FILE`); the run replaces it at the end of every global
round, and when a round's accuracy becomes known. A reader finds a complete record or none at all.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

FILE = "METRONOME_PROGRESS"  # the environment variable that holds the file's path


@dataclass(frozen=True)
class Progress:
    """How far a run has come, and the last accuracy that is known."""

    round: int
    rounds: int  # how many there will be
    elapsed: float  # emulated seconds since the first round began
    seconds_left: float  # host seconds until the last round ends, as estimated by the run
    accuracy: float | None = None  # None: none is known yet
    accuracy_round: int | None = None  # the round that it belongs to; 0 is before training


def asked_for(environment: MutableMapping[str, str]) -> Path | None:
    """Return where to write progress; None if nobody wants it.

    The variable is taken out of the environment: it is not meant for the processes of the run.
    """
    place = environment.pop(FILE, None)
    return Path(place) if place else None


def write(path: Path, progress: Progress) -> None:
    """Replace the record. A run does not fail because its progress cannot be written."""
    aside = _aside(path)
    with contextlib.suppress(OSError):
        aside.write_text(json.dumps(dataclasses.asdict(progress)), encoding="utf-8")
        os.replace(aside, path)


def read(path: Path) -> Progress | None:
    """The last record; None before the first one, and for a file that holds something else."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        accuracy, accuracy_round = fields["accuracy"], fields["accuracy_round"]
        return Progress(
            round=int(fields["round"]),
            rounds=int(fields["rounds"]),
            elapsed=float(fields["elapsed"]),
            seconds_left=float(fields["seconds_left"]),
            accuracy=None if accuracy is None else float(accuracy),
            accuracy_round=None if accuracy_round is None else int(accuracy_round),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove(path: Path) -> None:
    """Delete the file, and whatever a killed run was about to write."""
    for file in (path, _aside(path)):
        file.unlink(missing_ok=True)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")
