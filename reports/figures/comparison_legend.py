"""The line styles of the groups of a comparison, and the legend that explains them."""

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.comparison.groups import Comparison
from reports.figures.canvas import COLOURS

LineStyle = dict[str, Any]  # colour, marker and dashes

_MARKERS = ("o", "s", "^", "v", "P", "X", "<", ">")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (3, 1.5)), (0, (6, 2, 1.5, 2)))


def line_styles(comparison: Comparison) -> dict[str, LineStyle]:
    """Return one style for each label, the same in all panels and legible without colours."""
    labels = dict.fromkeys(group.label for group in comparison.groups)
    return {
        label: {
            "color": COLOURS[place % len(COLOURS)],
            "marker": _MARKERS[place % len(_MARKERS)],
            "linestyle": _DASHES[place % len(_DASHES)],
        }
        for place, label in enumerate(labels)
    }


def draw_legend(figure: Figure, comparison: Comparison, looks: dict[str, LineStyle]) -> int:
    """Draw the legend of lines and diamonds; return its number of lines."""
    return place_legend(figure, _entries(comparison, looks))


def place_legend(figure: Figure, entries: Sequence[tuple[Line2D, str]]) -> int:
    """Place a legend below the panels in as few lines as fit; return their number."""
    lines, labels = zip(*entries, strict=True)
    for rows in range(1, len(entries) + 1):
        legend = figure.legend(
            lines,
            labels,
            loc="outside lower center",
            ncols=math.ceil(len(entries) / rows),
            frameon=False,
            handlelength=3.2,
        )
        if legend.get_window_extent().width <= figure.bbox.width:
            return rows
        if rows < len(entries):
            legend.remove()
    return len(entries)


def legend_entry(label: str, look: LineStyle) -> tuple[Line2D, str]:
    """Return a curve's line and label."""
    return Line2D([], [], **look, linewidth=2, markersize=6), wrap_text(label, 60)


def _entries(comparison: Comparison, looks: dict[str, LineStyle]) -> list[tuple[Line2D, str]]:
    entries = [legend_entry(label, look) for label, look in looks.items()]
    groups = comparison.groups
    if any(len(group.runs) > 1 for group in groups):
        entries.append((Line2D([], [], color="grey", linewidth=0.7), "each seed"))
    ends = {group.all_reached for group in groups if group.arrivals}
    for whole, words in ((True, "target reached (mean)"), (False, "reached by some seeds only")):
        if whole in ends:
            diamond = Line2D([], [], color="grey", marker="D", markersize=7, linestyle="none")
            diamond.set_markerfacecolor("grey" if whole else "white")
            entries.append((diamond, words))
    return entries


def wrap_text(words: str, width: int) -> str:
    """Wrap at spaces, and escape what matplotlib would read as a formula."""
    lines = wrap(words, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("$", r"\$")
