"""Accuracy of the models of a run on cells, measured where the cells need them: cells.csv.

A cell's test set contains a share rho of the cell's main classes; the rest comes evenly from all
other classes. The expected accuracy in such a test set follows from a model's accuracy in each
class, so no test set is drawn. A model that belongs to no cell (the average, or the cloud's) is
tested in every cell.
"""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from contracts.evaluations import AVERAGE, GLOBAL
from contracts.plan import CellPlan
from contracts.tables import CELL_COLUMNS, CellRow
from reports.records.atomic_files import write_text_atomically
from reports.records.evaluations import EvaluationLine, Scores, mean_of_all
from reports.records.record_files import whole_table


class CellScores:
    """The accuracy of every evaluated model at every rho; None where it is not known."""

    def __init__(self, cells: CellPlan, evaluations: Iterable[EvaluationLine]) -> None:
        self.rho = tuple(float(share) for share in cells.rho)
        self.has_cloud = cells.has_cloud
        self.keys = (*cells.edges, AVERAGE, GLOBAL)
        self._main = {edge: frozenset(cells.main_classes[edge]) for edge in cells.edges}
        # The models that clients are given to use: the run is judged by these.
        self.judged_by = (GLOBAL,) if self.has_cloud else cells.edges
        self._lines = {(line["round"], line.get("key")): line for line in evaluations}

    @property
    def evaluated_models(self) -> str:
        """Describe the models that the run's accuracy refers to."""
        models = "the global model" if self.has_cloud else "the edges' models (mean)"
        return f"{models}, ρ = {self.rho[0]:g}"

    def accuracy(self, round: int, key: str, rho: float) -> float | None:
        """Return one model's accuracy: in its own cell, or as the mean over all cells."""
        by_class = _by_class(self._lines.get((round, key)))
        where = [key] if key in self._main else list(self._main)
        return mean_of_all(accuracy_at(by_class, self._main[cell], rho) for cell in where)

    def of_run(self, round: int, rho: float) -> float | None:
        """Return the run's accuracy: the global model's, or the mean of the edges' models."""
        return mean_of_all(self.accuracy(round, key, rho) for key in self.judged_by)

    def of_average(self, round: int, rho: float) -> float | None:
        """Return the accuracy of the plain mean of all edges' models, over all cells."""
        return self.accuracy(round, AVERAGE, rho)

    def final(
        self, rounds: Sequence[int], score: Callable[[int, float], float | None]
    ) -> dict[str, float]:
        """Return, for each rho, the score of the last of these rounds that has one."""
        found = {str(rho): [score(round, rho) for round in rounds] for rho in self.rho}
        known = {rho: [s for s in all_rounds if s is not None] for rho, all_rounds in found.items()}
        return {rho: scores[-1] for rho, scores in known.items() if scores}

    def by_round(self) -> Scores:
        """Return accuracy at the first rho, and loss over the whole test set, for each round."""
        return {
            round: (self.of_run(round, self.rho[0]), self._loss(round))
            for round in sorted({round for round, _ in self._lines})
        }

    def _loss(self, round: int) -> float | None:
        lines = [self._lines.get((round, key), {}) for key in self.judged_by]
        return mean_of_all(line.get("loss") for line in lines)


def accuracy_at(
    by_class: Sequence[float | None], main: Collection[int], rho: float
) -> float | None:
    """Return the expected accuracy in a test set with a share rho of the main classes.

    Classes whose accuracy is None are left out.
    """
    known = [(number in main, score) for number, score in enumerate(by_class) if score is not None]
    own = [score for is_main, score in known if is_main]
    other = [score for is_main, score in known if not is_main]
    if rho == 0 and other:
        return fmean(other)
    if not own:
        return None
    if rho == 1 or not other:
        return fmean(own)
    return rho * fmean(own) + (1 - rho) * fmean(other)


def write_cells(path: Path, scores: CellScores, elapsed: Mapping[int, int]) -> None:
    """Write one line for every model, round and rho with a score; `elapsed` is in microseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CELL_COLUMNS)
    writer.writerows(_rows(scores, elapsed))
    write_text_atomically(path, text.getvalue())


def read_cells(path: Path) -> list[CellRow]:
    """Read cells.csv; raises OSError if it cannot be opened."""
    return whole_table(path, CELL_COLUMNS, CellRow.of)


def _rows(scores: CellScores, elapsed: Mapping[int, int]) -> Iterator[tuple[Any, ...]]:
    for round, microseconds in elapsed.items():
        for key in scores.keys:
            for rho in scores.rho:
                accuracy = scores.accuracy(round, key, rho)
                if accuracy is not None:
                    yield round, f"{microseconds / 1e6:.6f}", key, rho, f"{accuracy:.6f}"


def _by_class(line: Mapping[str, Any] | None) -> list[float | None]:
    """Return the accuracy in each class; empty if the model was not or could not be evaluated."""
    scores = line.get("by_class") if line else None
    if not isinstance(scores, list):
        return []
    return [score if isinstance(score, int | float) else None for score in scores]
