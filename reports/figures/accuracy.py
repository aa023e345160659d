"""accuracy.png: accuracy against elapsed time and against rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from reports.figures.canvas import COLOURS, new_figure, plain_frame, save
from reports.figures.timeline_marks import draw_timeline_marks, timeline_marks
from reports.records.events import Event
from reports.records.rounds import RoundRow
from reports.records.summary import Summary
from reports.wording import duration

_BLUE, _ORANGE = COLOURS[:2]
_UNITS = ((3 * 86400.0, 86400.0, "days"), (3 * 3600.0, 3600.0, "h"), (300.0, 60.0, "min"))
_CROWDED = 40  # with more rounds, a dot for each would hide the curve


@dataclass(frozen=True)
class _Panel:
    """The accuracies along one horizontal axis, and how the target was reached on it."""

    label: str
    whole_numbers: bool
    positions: list[float]
    accuracies: list[float]
    target: float | None
    reached: str

    @property
    def first(self) -> tuple[float, float] | None:
        """The first point at or above the target."""
        points = zip(self.positions, self.accuracies, strict=True)
        return next(
            ((x, y) for x, y in points if self.target is not None and y >= self.target), None
        )


def draw_accuracy(
    path: Path,
    summary: Summary,
    rows: list[RoundRow],
    links: str,
    evaluated_models: str,
    events: Sequence[Event] = (),
) -> None:
    """Draw two panels with the same vertical axis.

    What happened to the network is marked along the time axis. Without evaluations, the panels say
    so.
    """
    figure = new_figure(11, 5)
    axes = figure.subplots(1, 2, sharey=True)
    for half, panel in zip(axes, _panels(summary, rows), strict=True):
        _draw(half, panel)
    last = _last_evaluated(rows)
    draw_timeline_marks(figure, axes[0], timeline_marks(events, last), time_unit(last)[0])
    axes[0].set_ylabel(f"test accuracy of {evaluated_models}")
    title = f"{summary.name}: {summary.protocol}, {summary.clock} clock"
    figure.suptitle("\n".join([title, *wrap(links, 110)]), fontsize=12, parse_math=False)
    save(figure, path)


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the length in seconds and the name of the unit that suits such a time."""
    return next(((size, unit) for limit, size, unit in _UNITS if seconds >= limit), (1.0, "s"))


def _last_evaluated(rows: list[RoundRow]) -> float:
    """Return the second at which the curve ends."""
    return max((row.elapsed_seconds for row in rows if row.accuracy is not None), default=0.0)


def _panels(summary: Summary, rows: list[RoundRow]) -> tuple[_Panel, _Panel]:
    evaluated = [row for row in rows if row.accuracy is not None]
    scale, unit = time_unit(_last_evaluated(rows))
    in_time = in_round = "not reached"
    if summary.time_to_target_seconds is not None:
        in_time = f"after {duration(summary.time_to_target_seconds)}"
        in_round = f"in round {summary.rounds_to_target}"
    accuracies = [row.accuracy for row in rows if row.accuracy is not None]
    target = summary.target_accuracy
    times = [row.elapsed_seconds / scale for row in evaluated]
    rounds = [float(row.round) for row in evaluated]
    return (
        _Panel(f"elapsed time ({unit})", False, times, accuracies, target, in_time),
        _Panel("global rounds", True, rounds, accuracies, target, in_round),
    )


def _draw(axes: Axes, panel: _Panel) -> None:
    axes.set_xlabel(panel.label)
    axes.xaxis.set_major_locator(
        MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=panel.whole_numbers)
    )
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_ylim(0, 1)
    axes.set_xlim(0, 1.04 * max(panel.positions, default=0.0) or 1.0)
    plain_frame(axes)
    if panel.target is not None:
        _draw_target(axes, panel, panel.target)
    if panel.positions:
        dot = "o" if len(panel.positions) <= _CROWDED else "none"
        (line,) = axes.plot(panel.positions, panel.accuracies, color=_BLUE, linewidth=2)
        line.set(marker=dot, markersize=5, clip_on=False)
    else:
        axes.text(0.5, 0.5, "no model was evaluated", ha="center", transform=axes.transAxes)


def _draw_target(axes: Axes, panel: _Panel, target: float) -> None:
    axes.axhline(target, color=_ORANGE, linestyle="--", linewidth=1.5)
    early = False
    if panel.first is not None:
        x, y = panel.first
        axes.vlines(x, 0, y, color=_ORANGE, linestyle=":", linewidth=1.5)
        axes.plot([x], [y], marker="D", markersize=8, color=_ORANGE, clip_on=False, zorder=3)
        early = x < 0.5 * axes.get_xlim()[1]
    # The curve is below the target before it gets there and mostly above it afterwards.
    axes.annotate(
        f"target {100 * target:g} % {panel.reached}",
        xy=(1 if early else 0, target),
        xycoords=("axes fraction", "data"),
        xytext=(-6, -6) if early else (6, 6),
        textcoords="offset points",
        ha="right" if early else "left",
        va="top" if early else "bottom",
        color=_ORANGE,
        fontweight="bold",
        in_layout=False,
    )
