"""Compare runs on cells by rho, the share of a cell's main classes in its test set."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from contracts.errors import BadInput
from contracts.evaluations import AVERAGE, GLOBAL
from contracts.tables import CellRow
from reports.comparison.csv_table import as_csv, spread_columns
from reports.comparison.groups import Comparison, Group, Spread, spread
from reports.comparison.runs import Point, Run
from reports.records.record_files import UnreadableRecord
from reports.records.run_records import RunRecords

_LAST = 5  # rounds
MEAN_OF_LAST_ROUNDS, LAST_ROUND = f"mean of the last {_LAST} rounds", "last round"


@dataclass(frozen=True)
class RhoCurve:
    """A group's final accuracy at every rho."""

    group: Group
    at: Mapping[float, Spread]


@dataclass(frozen=True)
class RhoCurves:
    """The curves of each section, all of the same measure so that they can be compared."""

    comparison: Comparison
    measure: str
    sections: Mapping[str, tuple[RhoCurve, ...]]
    notes: tuple[str, ...]


def with_accuracy_at_rho(runs: Sequence[Run], rho: float) -> list[Run]:
    """Return the runs with the accuracy of those on cells taken at this rho."""
    if not any(run.by_rho for run in runs):
        raise BadInput(f"--rho {rho:g}: none of the runs is on cells; leave it out")
    return [_at(run, rho) if run.by_rho else run for run in runs]


def curves_by_rho(comparison: Comparison) -> RhoCurves | None:
    """Return the curves of a comparison; None if no run is on cells."""
    runs = [run for group in comparison.groups for run in group.runs if run.by_rho]
    if not runs:
        return None
    means = {run.path: _mean_of_last(run) for run in runs}
    all_five = all(found is not None for found in means.values())
    ends = {run.path: (means[run.path] if all_five else None) or run.by_rho for run in runs}
    sections = {
        section.title: tuple(_curve(group, ends) for group in section.groups)
        for section in comparison.sections
    }
    known = {
        title: tuple(curve for curve in curves if curve.at) for title, curves in sections.items()
    }
    others = [curve.group.label for curves in sections.values() for curve in curves if not curve.at]
    notes = [f"not on cells, so not in comparison-rho.png: {', '.join(others)}"] if others else []
    drawn = {title: curves for title, curves in known.items() if curves}
    return RhoCurves(
        comparison, MEAN_OF_LAST_ROUNDS if all_five else LAST_ROUND, drawn, tuple(notes)
    )


def rho_csv(curves: RhoCurves) -> str:
    """Return one line for every group and rho."""
    return as_csv(
        [
            {
                "section": title,
                "label": curve.group.label,
                "rho": rho,
                "measure": curves.measure,
                "runs": len(curve.group.runs),
                "seeds": " ".join(str(run.seed) for run in curve.group.runs),
                **spread_columns("final_accuracy", found),
            }
            for title, by_group in curves.sections.items()
            for curve in by_group
            for rho, found in curve.at.items()
        ]
    )


def cell_points(rows: Iterable[CellRow]) -> dict[float, tuple[Point, ...]]:
    """Return a run's accuracy by rho: the global model's, or the mean of the edges' models.

    Rounds in which one of these models was not evaluated are left out.
    """
    scores: dict[float, dict[tuple[int, float], dict[str, float]]] = defaultdict(dict)
    for row in rows:
        by_key = scores[row.rho].setdefault((row.round, row.elapsed_seconds), {})
        by_key[row.key] = row.accuracy
    return {rho: tuple(_points(rounds)) for rho, rounds in scores.items()}


def _points(rounds: Mapping[tuple[int, float], Mapping[str, float]]) -> Iterable[Point]:
    keys = {key for by_key in rounds.values() for key in by_key} - {AVERAGE}
    used = {GLOBAL} if GLOBAL in keys else keys
    for (number, seconds), by_key in sorted(rounds.items()):
        if used and used <= by_key.keys():
            yield Point(number, seconds, fmean(by_key[key] for key in sorted(used)))


def _at(run: Run, rho: float) -> Run:
    try:
        points = cell_points(RunRecords(run.path).written_cells)
    except OSError as error:
        raise BadInput(
            f"--rho {rho:g}: {error.filename} cannot be read ({error.strerror}); leave it out"
        ) from None
    except UnreadableRecord as error:
        raise BadInput(
            f"--rho {rho:g}: {error.path} {error.cause}; leave --rho or this run out"
        ) from None
    if rho not in points:
        known = ", ".join(f"{share:g}" for share in sorted(points))
        raise BadInput(f"--rho {rho:g}: {run.path} was evaluated at {known}; take one of these")
    return dataclasses.replace(run, points=points[rho], rho=rho)


def _mean_of_last(run: Run) -> dict[float, float] | None:
    """Return the mean of the last rounds; None if the run has too few, or no record of them."""
    try:
        points = cell_points(RunRecords(run.path).written_cells)
    except (OSError, UnreadableRecord):
        return None
    trained = {rho: [p for p in found if p.round > 0] for rho, found in points.items()}
    # In a short run the last five rounds are most of it, which says little about its end.
    if not trained or any(len(found) < 2 * _LAST for found in trained.values()):
        return None
    return {rho: fmean(p.accuracy for p in found[-_LAST:]) for rho, found in trained.items()}


def _curve(group: Group, ends: Mapping[Path, Mapping[float, float]]) -> RhoCurve:
    found = [ends[run.path] for run in group.runs if run.path in ends]
    shares = sorted({rho for by_rho in found for rho in by_rho})
    spreads = {rho: spread(by_rho.get(rho) for by_rho in found) for rho in shares}
    return RhoCurve(group, {rho: value for rho, value in spreads.items() if value is not None})
