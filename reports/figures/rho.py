"""comparison-rho.png: final accuracy against rho, a line a group, a panel a section."""

from pathlib import Path

from matplotlib.axes import Axes

from reports.comparison.rho import RhoCurve, RhoCurves
from reports.figures.canvas import plain_frame, save
from reports.figures.comparison import clock_names, figure_with_panels
from reports.figures.comparison_legend import (
    LineStyle,
    legend_entry,
    line_styles,
    place_legend,
    wrap_text,
)
from reports.figures.means import (
    RANGE_LEGEND_ENTRY,
    draw_means,
    format_accuracy_axis,
    side_by_side_offsets,
)

_MOST_TICKS = 8


def draw_rho(path: Path, curves: RhoCurves) -> None:
    """Draw the mean over the seeds, and their range."""
    looks = line_styles(curves.comparison)
    drawn = [curve for by_group in curves.sections.values() for curve in by_group]
    entries = [
        legend_entry(label, looks[label]) for label in dict.fromkeys(c.group.label for c in drawn)
    ]
    if any(len(curve.group.runs) > 1 for curve in drawn):
        entries.append(RANGE_LEGEND_ENTRY)
    count = len(curves.sections)
    figure, rows, columns = figure_with_panels(count)
    figure.set_figheight(figure.get_figheight() + 0.25 * place_legend(figure, entries))
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for place, (panel, title) in enumerate(zip(panels, curves.sections, strict=False)):
        _draw(panel, curves.sections[title], looks)
        panel.set_title(wrap_text(title, 44 if count > 1 else 90), fontsize=11)
        if place % columns == 0:
            panel.set_ylabel(f"test accuracy, {curves.measure}")
        if place + columns >= count:
            panel.set_xlabel("ρ: share of the cell's main classes in its test set")
    for panel in panels[count:]:
        panel.set_visible(False)
    title = f"Final accuracy against ρ ({clock_names(curves.comparison)} clock)"
    figure.suptitle(title, fontsize=13, fontweight="bold")
    save(figure, path)


def _draw(panel: Axes, curves: tuple[RhoCurve, ...], looks: dict[str, LineStyle]) -> None:
    plain_frame(panel)
    apart = side_by_side_offsets(len(curves), [curve.group for curve in curves])
    for curve, shift in zip(curves, apart, strict=True):
        draw_means(panel, list(curve.at.items()), looks[curve.group.label], shift)
    format_accuracy_axis(panel, [found for curve in curves for found in curve.at.values()])
    shares = sorted({rho for curve in curves for rho in curve.at})
    margin = 0.06 * (shares[-1] - shares[0]) or 0.05
    panel.set_xlim(shares[0] - margin, shares[-1] + margin)
    if len(shares) <= _MOST_TICKS:
        panel.set_xticks(shares, [f"{rho:g}" for rho in shares])
