"""Read evaluations.jsonl: the scores of every model that was evaluated."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from reports.records.record_files import json_lines

EvaluationLine = dict[str, Any]  # its `round` is a whole number
Scores = dict[int, tuple[float | None, float | None]]  # accuracy and loss by round


def read_evaluations(path: Path) -> list[EvaluationLine]:
    """Return all lines that belong to a round, in the order in which they were written."""
    return [line for line in json_lines(path) if isinstance(line.get("round"), int)]


def mean_scores(lines: Iterable[EvaluationLine], keys: Sequence[str]) -> Scores:
    """Return, for each round, the mean over these models; None if any of them is missing."""
    by_round: dict[int, dict[str, EvaluationLine]] = {}
    for line in lines:
        if line.get("key") in keys:
            by_round.setdefault(line["round"], {})[line["key"]] = line
    return {
        number: (_mean(found, keys, "accuracy"), _mean(found, keys, "loss"))
        for number, found in by_round.items()
    }


def mean_of_all(values: Iterable[float | None]) -> float | None:
    """Return the mean, or None if any value is missing.

    A mean over the remaining values would describe something else.
    """
    found = list(values)
    known = [value for value in found if value is not None]
    return fmean(known) if known and len(known) == len(found) else None


def _mean(found: dict[str, EvaluationLine], keys: Sequence[str], score: str) -> float | None:
    return mean_of_all(found.get(key, {}).get(score) for key in keys)
