"""cells.png: accuracy at every rho against elapsed time, and final accuracy against rho."""

from pathlib import Path
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from reports.figures.accuracy import time_unit
from reports.figures.canvas import COLOURS, MARKERS, new_figure, plain_frame, save
from reports.records.cells import CellScores
from reports.records.rounds import RoundRow
from reports.records.summary import Summary

_Curve = tuple[tuple[float, float], ...]  # elapsed seconds, accuracy

_MARKS = 12  # along each curve
_MOST_TICKS = 8
_LEAST_HEIGHT = 0.1  # of the right panel, so that noise does not look like a trend


def draw_cells(
    path: Path, summary: Summary, rows: list[RoundRow], cells: CellScores, links: str
) -> None:
    """Draw both panels; a run without evaluations says so instead."""
    figure = new_figure(11, 5)
    over_time, over_rho = figure.subplots(1, 2)
    models = "global model" if cells.has_cloud else "edges' models (mean)"
    _draw_times(over_time, rows, cells)
    over_time.set_ylabel(f"test accuracy, {models}")
    ends = {models: summary.accuracy_by_rho, "averaged model": summary.average_model_by_rho}
    _draw_ends(over_rho, ends)
    title = f"{summary.name}: {summary.protocol}, {summary.clock} clock"
    figure.suptitle("\n".join([title, *wrap(links, 110)]), fontsize=12, parse_math=False)
    save(figure, path)


def _draw_times(axes: Axes, rows: list[RoundRow], cells: CellScores) -> None:
    scale, unit = time_unit(max((row.elapsed_seconds for row in rows), default=0.0))
    for place, (points, shares) in enumerate(_curves(rows, cells).items()):
        times, scores = zip(*points, strict=True)
        every = max(1, len(points) // _MARKS)
        # Stagger the markers, so that curves that coincide all stay visible.
        look = _look(place) | {"markevery": (min(place, every - 1), every)}
        label = "ρ = " + ", ".join(f"{rho:g}" for rho in shares)
        axes.plot([seconds / scale for seconds in times], scores, label=label, **look)
    _format_axes(axes, f"elapsed time ({unit})")
    axes.set_ylim(0, 1)
    axes.set_xlim(left=0)


def _curves(rows: list[RoundRow], cells: CellScores) -> dict[_Curve, list[float]]:
    """Return each distinct curve with the values of rho it belongs to.

    A global model is equally good at every rho, so its curves coincide.
    """
    curves: dict[_Curve, list[float]] = {}
    for rho in cells.rho:
        found = [(row.elapsed_seconds, cells.of_run(row.round, rho)) for row in rows]
        known = tuple((seconds, round(score, 6)) for seconds, score in found if score is not None)
        if known:
            curves.setdefault(known, []).append(rho)
    return curves


def _draw_ends(axes: Axes, curves: dict[str, dict[str, float]]) -> None:
    evaluated = {label: found for label, found in curves.items() if found}
    for place, (label, found) in enumerate(evaluated.items()):
        points = sorted((float(rho), score) for rho, score in found.items())
        axes.plot(*zip(*points, strict=True), label=label, **_look(place))
    _format_axes(axes, "ρ: share of the cell's main classes in its test set")
    axes.set_ylabel("final test accuracy")
    shares = sorted({float(rho) for found in evaluated.values() for rho in found})
    if 0 < len(shares) <= _MOST_TICKS:
        axes.set_xticks(shares, [f"{rho:g}" for rho in shares])
    scores = [score for found in evaluated.values() for score in found.values()] or [0.0, 1.0]
    low, high = min(scores), max(scores)
    margin = max(0.08 * (high - low), (_LEAST_HEIGHT - (high - low)) / 2)
    axes.set_ylim(max(0.0, low - margin), min(1.0, high + margin))


def _format_axes(axes: Axes, label: str) -> None:
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=10, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    plain_frame(axes)
    if axes.lines:
        axes.legend(loc="best", fontsize=9, framealpha=0.9)
    else:
        axes.text(0.5, 0.5, "no model was evaluated", ha="center", transform=axes.transAxes)


def _look(place: int) -> dict[str, Any]:
    return {
        "color": COLOURS[place % len(COLOURS)],
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 5,
        "linewidth": 2,
        "clip_on": False,
    }
