"""rounds.csv: how far the model was after every round, and what the round's time went into.

Times are rounded to microseconds where the path goes from one step to the next, not step by step:
so the phases of a round add up to its length, and the rounds to the elapsed time, exactly.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.cells import GLOBAL, CellScores, mean_of_all
from reports.critical_path import PhaseIndex, Step, critical_path
from reports.events import Event, json_lines
from reports.replace import replace_text

PHASES = ("download", "compute", "upload", "wait", "aggregate")


@dataclass(frozen=True)
class RoundRow:
    """One line of rounds.csv; times in microseconds."""

    round: int
    elapsed: int
    accuracy: float | None
    loss: float | None
    spent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PHASES, 0))

    @property
    def elapsed_seconds(self) -> float:
        return self.elapsed / 1e6


def round_rows(
    events: list[Event],
    evaluations: Path,
    cells: CellScores | None = None,
    keys: Sequence[str] = (GLOBAL,),
) -> list[RoundRow]:
    """Round 0 (the initial model), then every finished round; a run on cells has its own scores.

    Otherwise they are the mean over the models of these keys.
    """
    index = PhaseIndex(events)
    scores = _scores(evaluations, keys) if cells is None else cells.by_round()
    if not index.rounds and 0 not in scores:
        return []
    rows = [RoundRow(0, 0, *scores.get(0, (None, None)))]
    for event in index.rounds:
        spent = time_spent(critical_path(index, event))
        accuracy, loss = scores.get(event.round, (None, None))
        rows.append(RoundRow(event.round, _microseconds(event.end), accuracy, loss, spent))
    return rows


def time_spent(path: list[Step]) -> dict[str, int]:
    """Microseconds of a critical path by phase."""
    spent = dict.fromkeys(PHASES, 0)
    for step in path:
        spent[step.phase] += _microseconds(step.end) - _microseconds(step.start)
    return spent


def write_rounds(path: Path, rows: list[RoundRow]) -> None:
    """Always with a header, also when no round was finished."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("round", "elapsed_seconds", "accuracy", "loss", *PHASES))
    for row in rows:
        scores = (_score(row.accuracy), _score(row.loss))
        spent = (_seconds(row.spent[phase]) for phase in PHASES)
        writer.writerow((row.round, _seconds(row.elapsed), *scores, *spent))
    replace_text(path, text.getvalue())


def _scores(path: Path, keys: Sequence[str]) -> dict[int, tuple[float | None, float | None]]:
    lines: dict[int, dict[str, Any]] = {}
    for line in json_lines(path):
        if line.get("key") in keys and isinstance(line.get("round"), int):
            lines.setdefault(line["round"], {})[line["key"]] = line
    return {
        round: (_mean(of, keys, "accuracy"), _mean(of, keys, "loss")) for round, of in lines.items()
    }


def _mean(lines: dict[str, Any], keys: Sequence[str], score: str) -> float | None:
    return mean_of_all(lines.get(key, {}).get(score) for key in keys)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def _seconds(microseconds: int) -> str:
    return f"{microseconds / 1e6:.6f}"


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
