"""rounds.csv: the model's scores after every round, and where the round's time went.

Times are rounded to microseconds at the boundaries between the steps of the critical path, not step
by step. The phases of a round therefore add up exactly to its length, and the rounds to the elapsed
time.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from contracts.tables import PHASES, ROUND_COLUMNS
from reports.bottleneck.critical_path import Step
from reports.records.atomic_files import write_text_atomically
from reports.records.events import Event
from reports.records.record_files import whole_table

Score = float | None

_SCORES = ("accuracy", "loss")


@dataclass(frozen=True)
class RoundRow:
    """One line of rounds.csv, with times in microseconds."""

    round: int
    elapsed: int
    accuracy: float | None
    loss: float | None
    spent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PHASES, 0))

    @property
    def elapsed_seconds(self) -> float:
        """Seconds from the start of training to the end of this round."""
        return self.elapsed / 1e6


def round_rows(
    finished: Iterable[tuple[Event, list[Step]]], scores: Mapping[int, tuple[Score, Score]]
) -> list[RoundRow]:
    """Return round 0 (the initial model), then each finished round with its scores and time."""
    rows = [
        RoundRow(
            event.round,
            _microseconds(event.end),
            *scores.get(event.round, (None, None)),
            time_spent(path),
        )
        for event, path in finished
    ]
    if not rows and 0 not in scores:
        return []
    return [RoundRow(0, 0, *scores.get(0, (None, None))), *rows]


def time_spent(path: list[Step]) -> dict[str, int]:
    """Return the microseconds that a critical path spends in each phase."""
    spent = dict.fromkeys(PHASES, 0)
    for step in path:
        spent[step.phase] += _microseconds(step.end) - _microseconds(step.start)
    return spent


def write_rounds(path: Path, rows: list[RoundRow]) -> None:
    """Write rounds.csv; it has a header even if no round was finished."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(ROUND_COLUMNS)
    for row in rows:
        scores = (_score(row.accuracy), _score(row.loss))
        spent = (_seconds(row.spent[phase]) for phase in PHASES)
        writer.writerow((row.round, _seconds(row.elapsed), *scores, *spent))
    write_text_atomically(path, text.getvalue())


def read_rounds(path: Path) -> list[RoundRow]:
    """Read rounds.csv; raises OSError if it cannot be opened."""
    return whole_table(path, ROUND_COLUMNS, _row)


def _row(fields: Mapping[str, str]) -> RoundRow:
    spent = {phase: _microseconds(float(fields[phase])) for phase in PHASES}
    accuracy, loss = (float(text) if (text := fields[name]) else None for name in _SCORES)
    elapsed = _microseconds(float(fields["elapsed_seconds"]))
    return RoundRow(int(fields["round"]), elapsed, accuracy, loss, spent)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / 1e6:.6f}"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
