"""links.png: times over the profiles of a tier, and below them where the time went."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from contracts.events import Phase
from reports.bottleneck.used_links import DIRECTION_OF_PHASE
from reports.comparison.link_study import Cell, LinkStudy
from reports.figures.canvas import new_figure, plain_frame, save
from reports.figures.colours import PHASE_COLOURS
from reports.figures.comparison import clock_names
from reports.figures.comparison_legend import (
    LineStyle,
    legend_entry,
    line_styles,
    place_legend,
    wrap_text,
)
from reports.figures.means import RANGE_LEGEND_ENTRY
from reports.figures.over_settings import draw_times, format_value_axis, panel_times

_STACK: dict[str, str] = {  # from bottom to top
    Phase.COMPUTE: "computing",
    Phase.AGGREGATE: "aggregation",
    Phase.DOWNLOAD: "download",
    Phase.UPLOAD: "upload",
    Phase.WAIT: "waiting",
}
_PHASE = {way: phase for phase, way in DIRECTION_OF_PHASE.items() if phase in _STACK}
_HEIGHT = 6.8
_SEEN = 0.005  # the smallest share that is visible in a bar
_WIDE = 0.8  # share of a profile's width that its bars take together


def draw_link_study(path: Path, study: LinkStudy) -> None:
    """Draw a line for each method above, and a bar with the same marker for each below."""
    over = study.over
    (axis,), panel = over.axes, over.panels[0]
    looks = line_styles(over.merged)
    figure = new_figure(8.0, _HEIGHT, pad=0.08, hspace=0.04)
    above, below = figure.subplots(2, 1, sharex=True)
    times = panel_times(over, panel)
    draw_times(above, panel, axis, looks, times)
    above.set_ylabel(times.label)
    _draw_stacks(below, study, looks)
    format_value_axis(below, axis, 1)
    below.set_xlabel(f"{study.tier} links")
    legend = place_legend(figure, list(_entries(study, looks)))
    figure.set_figheight(_HEIGHT + 0.25 * legend)
    title = f"{study.title}: {study.tier} ({clock_names(over.merged)} clock)"
    figure.suptitle(wrap_text(title, 90), fontsize=13, fontweight="bold")
    save(figure, path)


def _by_phase(cell: Cell) -> dict[str, float]:
    found = dict.fromkeys(_STACK, 0.0)
    for part, share in cell.parts.items():
        phase = part.rpartition(" ")[2]
        found[_PHASE.get(phase, phase)] += share
    return found


def _entries(study: LinkStudy, looks: dict[str, LineStyle]) -> Iterator[tuple[Line2D, str]]:
    yield from (legend_entry(method, look) for method, look in looks.items())
    if any(len(cell.group.runs) > 1 for cell in study.cells):
        yield RANGE_LEGEND_ENTRY
    shares = [_by_phase(cell) for cell in study.cells]
    for phase, words in _STACK.items():
        if any(found[phase] >= _SEEN for found in shares):
            square: dict[str, Any] = {"marker": "s", "markersize": 11, "linestyle": "none"}
            yield Line2D([], [], color=PHASE_COLOURS[phase], **square), words


def _draw_stacks(axes: Axes, study: LinkStudy, looks: dict[str, LineStyle]) -> None:
    plain_frame(axes)
    axes.grid(False, axis="x")
    axis = study.over.axes[0]
    width = _WIDE / len(study.methods)
    for cell in study.cells:
        shift = (study.methods.index(cell.method) - (len(study.methods) - 1) / 2) * width
        x, height = axis.position(cell.profile) + shift, 0.0
        for phase, share in _by_phase(cell).items():
            axes.bar(x, share, 0.9 * width, bottom=height, color=PHASE_COLOURS[phase], zorder=2)
            height += share
        look = looks[cell.method]
        axes.plot([x], [1.06], marker=look["marker"], color=look["color"], markersize=6)
    axes.set_ylim(0, 1.12)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_ylabel("share of the elapsed time")
