"""Draw means over seeds along any axis, with their range, and format an axis of accuracies."""

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter
from matplotlib.transforms import ScaledTranslation, Transform

from reports.comparison.groups import Group, Spread
from reports.figures.comparison_legend import LineStyle

_LEAST_HEIGHT = 0.1  # of an axis of accuracies, so that noise does not look like a trend
_APART, _ALL_APART = 2.5, 10.0  # points between curves whose ranges would overlap
RANGE_LEGEND_ENTRY = (
    Line2D([], [], color="grey", marker="|", markersize=11, linestyle="none"),
    "range over seeds",
)


def draw_means(
    panel: Axes, points: Sequence[tuple[float, Spread | None]], look: LineStyle, shift: float = 0.0
) -> None:
    """Draw a line with markers, broken where values are missing, and thin bars for the ranges."""
    moved = _moved(panel, shift)
    heights = [math.nan if spread is None else spread.mean for _, spread in points]
    places = [x for x, _ in points]
    panel.plot(places, heights, **look, linewidth=2, markersize=6, zorder=3, transform=moved)
    known = [(x, spread) for x, spread in points if spread is not None]
    panel.vlines(
        [x for x, _ in known],
        [spread.least for _, spread in known],
        [spread.most for _, spread in known],
        color=look["color"],
        linewidth=1.2,
        transform=moved,
    )


def draw_hollow(panel: Axes, x: float, y: float, look: LineStyle, shift: float = 0.0) -> None:
    """Draw one of the markers again, without its filling."""
    (mark,) = panel.plot([x], [y], look["marker"], color=look["color"], markersize=7, zorder=4)
    mark.set(markerfacecolor="white", markeredgewidth=1.5, transform=_moved(panel, shift))


def side_by_side_offsets(count: int, groups: Iterable[Group]) -> list[float]:
    """Return offsets in points for this many curves; zero if every group is one run."""
    several = any(len(group.runs) > 1 for group in groups)
    apart = min(_APART, _ALL_APART / max(1, count)) if several else 0.0
    return [apart * (number - (count - 1) / 2) for number in range(count)]


def format_accuracy_axis(panel: Axes, spreads: Iterable[Spread]) -> None:
    """Format the axis in percent, as high as needed; say so if there are no values."""
    heights = [height for spread in spreads for height in (spread.least, spread.most)]
    if not heights:
        panel.text(0.5, 0.5, "no model was evaluated", ha="center", transform=panel.transAxes)
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    margin = max(0.08 * (high - low), (_LEAST_HEIGHT - (high - low)) / 2)
    panel.set_ylim(max(0.0, low - margin), min(1.0 + 0.2 * margin, high + margin))
    panel.yaxis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 2, 5, 10]))
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def _moved(panel: Axes, points: float) -> Transform:
    figure = panel.figure
    return panel.transData + ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)
