"""accuracy.png: accuracy against elapsed time and against rounds."""

import io
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from reports.readable import duration
from reports.replace import replace_bytes
from reports.rounds import RoundRow
from reports.summary import Summary, first_at

# Okabe and Ito's palette, which colour-blind people can tell apart.
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#595959"
_UNITS = ((3 * 86400.0, 86400.0, "days"), (3 * 3600.0, 3600.0, "h"), (300.0, 60.0, "min"))


@dataclass(frozen=True)
class _Curve:
    """One panel: where each round lies on its axis, and the words for the axis and the target."""

    label: str
    positions: list[float]
    reached: float | None
    words: str


def draw_accuracy(path: Path, summary: Summary, rows: list[RoundRow], links: str) -> None:
    """Two panels with the same vertical axis; a run without evaluations says so instead."""
    figure = Figure(figsize=(11, 4.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    evaluated = [row for row in rows if row.accuracy is not None]
    panels = figure.subplots(1, 2, sharey=True)
    for axes, curve in zip(panels, _curves(summary, evaluated), strict=True):
        _draw(axes, curve, [row.accuracy or 0.0 for row in evaluated], summary)
    panels[0].set_ylabel("test accuracy of the global model")
    figure.suptitle(f"{summary.name}: {summary.protocol}, {summary.clock} clock", fontsize=14)
    # As the first panel's title it would be centred on that panel only.
    figure.text(0.5, -0.01, links, ha="center", va="top", fontsize=9, color=_GREY)
    image = io.BytesIO()
    figure.savefig(image, format="png", bbox_inches="tight", pad_inches=0.15, facecolor="white")
    replace_bytes(path, image.getvalue())


def _curves(summary: Summary, rows: list[RoundRow]) -> tuple[_Curve, _Curve]:
    last = rows[-1].elapsed_seconds if rows else 0.0
    scale, unit = next(((size, unit) for limit, size, unit in _UNITS if last >= limit), (1.0, "s"))
    reached = first_at(rows, summary.target_accuracy)
    in_time = _Curve(
        f"elapsed time ({unit})",
        [row.elapsed_seconds / scale for row in rows],
        reached.elapsed_seconds / scale if reached else None,
        f"after {duration(reached.elapsed_seconds)}" if reached else "not reached",
    )
    in_rounds = _Curve(
        "global rounds",
        [float(row.round) for row in rows],
        float(reached.round) if reached else None,
        f"in round {reached.round}" if reached else "not reached",
    )
    return in_time, in_rounds


def _draw(axes: Axes, curve: _Curve, accuracies: list[float], summary: Summary) -> None:
    crowded = len(accuracies) > 40
    axes.plot(
        curve.positions,
        accuracies,
        color=_BLUE,
        linewidth=2,
        marker=None if crowded else "o",
        markersize=5,
    )
    axes.set_xlabel(curve.label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=curve.label == "global rounds", nbins=8))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_ylim(0, 1)
    axes.set_xlim(left=0, right=max(curve.positions, default=0.0) * 1.04 or 1.0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if summary.target_accuracy is not None:
        _draw_target(axes, curve, summary.target_accuracy)
    if not accuracies:
        axes.text(0.5, 0.5, "no model was evaluated", ha="center", transform=axes.transAxes)


def _draw_target(axes: Axes, curve: _Curve, target: float) -> None:
    axes.axhline(target, color=_ORANGE, linestyle="--", linewidth=1.5)
    if curve.reached is not None:
        axes.axvline(curve.reached, ymax=target, color=_ORANGE, linestyle=":", linewidth=1.5)
        axes.plot([curve.reached], [target], marker="D", markersize=7, color=_ORANGE)
    axes.annotate(
        f"target {100 * target:g} % {curve.words}",
        xy=(1, target),
        xycoords=("axes fraction", "data"),
        xytext=(-4, -6 if target > 0.1 else 6),
        textcoords="offset points",
        ha="right",
        va="top" if target > 0.1 else "bottom",
        color=_ORANGE,
        fontweight="bold",
    )
