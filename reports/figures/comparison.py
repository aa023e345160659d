"""comparison.png: accuracy against elapsed time (or rounds), one panel for each section."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from reports.comparison.groups import Comparison, Group, Section, rho_suffix
from reports.comparison.metrics import ROUNDS, TIME
from reports.comparison.runs import Point, Run
from reports.figures.accuracy import time_unit
from reports.figures.canvas import new_figure, plain_frame, save
from reports.figures.comparison_legend import LineStyle, draw_legend, line_styles, wrap_text

_TARGET = "#444444"
_MARKS = 8  # along each curve
_EARLY = 0.3  # share of the width that the target's label takes
_STEEP = 0.15  # the share of a run in which the first steep rise is over


@dataclass(frozen=True)
class _Axis:
    label: str
    whole_numbers: bool
    at: Callable[[Point], float]


def draw_comparison(path: Path, comparison: Comparison, over_rounds: bool = False) -> None:
    """Draw thick lines for means over seeds, thin ones for seeds, diamonds at the target."""
    axis = _axis(comparison, over_rounds)
    looks = line_styles(comparison)
    count = len(comparison.sections)
    figure, rows, columns = figure_with_panels(count)
    figure.set_figheight(figure.get_figheight() + 0.25 * draw_legend(figure, comparison, looks))
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for place, (panel, section) in enumerate(zip(panels, comparison.sections, strict=False)):
        _draw_section(panel, section, axis, looks)
        panel.set_title(wrap_text(section.title, 44 if count > 1 else 90), fontsize=11)
        if place % columns == 0:
            panel.set_ylabel(f"test accuracy{rho_suffix(comparison.groups)}")
        if place + columns >= count:  # nothing below it
            panel.set_xlabel(axis.label)
    for panel in panels[count:]:
        panel.set_visible(False)
    what = "global rounds" if over_rounds else "elapsed time"
    title = f"Accuracy against {what} ({clock_names(comparison)} clock)"
    figure.suptitle(title, fontsize=13, fontweight="bold")
    save(figure, path)


def clock_names(comparison: Comparison) -> str:
    """Return the clocks that the runs used, usually one."""
    return " and ".join(sorted({run.clock for group in comparison.groups for run in group.runs}))


def figure_with_panels(count: int) -> tuple[Figure, int, int]:
    """Create a figure for this many panels; also return their rows and columns."""
    columns = 1 if count == 1 else 2 if count in (2, 4) else 3
    rows = math.ceil(count / columns)
    width, height = (9.0, 5.2) if count == 1 else (4.6 * columns, 3.5 * rows + 0.4)
    return new_figure(width, height, pad=0.08, hspace=0.04, wspace=0.03), rows, columns


def mean_curve(runs: Iterable[Run]) -> list[Point]:
    """Return the mean over these runs for each round in which all of them were evaluated."""
    by_run = [{point.round: point for point in run.points} for run in runs]
    common = sorted(set.intersection(*(set(points) for points in by_run)))
    return [
        Point(
            number,
            sum(points[number].seconds for points in by_run) / len(by_run),
            sum(points[number].accuracy for points in by_run) / len(by_run),
        )
        for number in common
    ]


def _axis(comparison: Comparison, over_rounds: bool) -> _Axis:
    if over_rounds:
        return _Axis("global rounds", True, lambda point: float(point.round))
    ends = [
        run.points[-1].seconds for group in comparison.groups for run in group.runs if run.points
    ]
    scale, unit = time_unit(max(ends, default=0.0))
    return _Axis(f"elapsed time ({unit})", False, lambda point: point.seconds / scale)


def _draw_section(panel: Axes, section: Section, axis: _Axis, looks: dict[str, LineStyle]) -> None:
    panel.xaxis.set_major_locator(
        MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=axis.whole_numbers)
    )
    plain_frame(panel)
    for place, group in enumerate(section.groups):
        _draw_group(panel, group, axis, looks[group.label], place)
    points = [p for group in section.groups for run in group.runs for p in run.points]
    if not points:
        panel.text(0.5, 0.5, "no model was evaluated", ha="center", transform=panel.transAxes)
        return
    panel.set_xlim(0, 1.02 * max(map(axis.at, points)) or 1.0)
    targets = sorted({group.target for group in section.groups if group.target is not None})
    low, high = _heights(section, targets)
    panel.set_ylim(low, high)
    ticks = MaxNLocator(nbins=7, steps=[1, 2, 5, 10]).tick_values(low, high)
    panel.set_yticks([tick for tick in ticks if low <= tick <= min(1, high)])
    whole = all(math.isclose(100 * tick, round(100 * tick), abs_tol=1e-6) for tick in ticks)
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0 if whole else 1, symbol=" %"))
    arrivals = [axis.at(point) for group in section.groups for _, point in group.arrivals]
    early = bool(arrivals) and min(arrivals) < _EARLY * panel.get_xlim()[1]
    for target in targets:
        _draw_target(panel, target, early)
    for group in section.groups:
        _draw_arrival(panel, group, axis, looks[group.label])


def _draw_group(panel: Axes, group: Group, axis: _Axis, look: LineStyle, place: int) -> None:
    if len(group.runs) > 1:
        for run in group.runs:
            xs, ys = [axis.at(p) for p in run.points], [p.accuracy for p in run.points]
            panel.plot(xs, ys, color=look["color"], linewidth=0.7, alpha=0.45)
    curve = mean_curve(group.runs)
    every = max(1, len(curve) // _MARKS)
    panel.plot(
        [axis.at(p) for p in curve],
        [p.accuracy for p in curve],
        **look,
        linewidth=2,
        markersize=5,
        markevery=(min(place, every - 1), every),  # staggered where curves coincide
        zorder=3,
    )


def _heights(section: Section, targets: list[float]) -> tuple[float, float]:
    """Return the vertical limits without the first steep rise, which would squash the rest."""
    lows, highs = list(targets), list(targets)
    for group in section.groups:
        for run in group.runs:
            later = run.points[int(_STEEP * len(run.points)) :]
            lows += [point.accuracy for point in later]
            highs += [point.accuracy for point in later]
    low = math.floor(20 * min(lows)) / 20
    return low, max(highs) + 0.09 * (max(highs) - low) + 0.005  # room for the target's label


def _draw_target(panel: Axes, target: float, early: bool) -> None:
    """Draw the target with its label away from the curves: before them, or below early risers."""
    panel.axhline(target, color=_TARGET, linestyle=(0, (4, 3)), linewidth=1.2, zorder=2)
    panel.annotate(
        f"target {100 * target:g} %",
        xy=(1 if early else 0, target),
        xycoords=("axes fraction", "data"),
        xytext=(-5, -4) if early else (5, 3),
        textcoords="offset points",
        ha="right" if early else "left",
        va="top" if early else "bottom",
        color=_TARGET,
        fontsize=9,
        in_layout=False,
    )


def _draw_arrival(panel: Axes, group: Group, axis: _Axis, look: LineStyle) -> None:
    """Draw a diamond on the target's line, hollow if some runs never reached it."""
    found = group.spread(ROUNDS if axis.whole_numbers else TIME)
    if found is None or group.target is None:
        return
    x = found.mean if axis.whole_numbers else axis.at(Point(0, found.mean, 0.0))
    fill = look["color"] if group.all_reached else "white"
    panel.plot([x], [group.target], "D", markersize=8, color=look["color"], zorder=4)[0].set(
        markerfacecolor=fill, markeredgecolor="white" if group.all_reached else look["color"]
    )
