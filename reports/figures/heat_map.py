"""comparison-over.png over two settings: a heat map of final accuracy for each series."""

import math
from pathlib import Path

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, PercentFormatter

from reports.comparison.groups import Group, rho_suffix
from reports.comparison.metrics import FINAL
from reports.comparison.over_settings import Series, SettingsComparison
from reports.comparison.setting_values import SettingValues
from reports.figures.canvas import new_figure, save
from reports.figures.comparison import clock_names
from reports.figures.comparison_legend import wrap_text

_COLOURS = colormaps["cividis"]  # made for colour-blind people
_LEAST = 0.02  # the span of the scale, so that noise does not look like a trend
_CELL = (0.72, 0.5)  # inches
_MOST_COLUMNS = 4
_LIGHT = 0.5
_LONG = 9  # letters that have room below a cell


def draw_heat_maps(path: Path, over: SettingsComparison) -> None:
    """Draw the first setting to the right, the second upwards (downwards if not a number)."""
    across, up = over.axes
    maps = [(panel.title, series) for panel in over.panels for series in panel.series]
    columns = min(_MOST_COLUMNS, len(maps), max(2, 14 // len(across.texts)))
    rows = math.ceil(len(maps) / columns)
    width = 1.5 + columns * (_CELL[0] * len(across.texts) + 0.7)
    height = 1.0 + rows * (_CELL[1] * len(up.texts) + 0.9)
    figure = new_figure(max(6.0, width), height, pad=0.08, hspace=0.03, wspace=0.03)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flatten()
    scale = _scale(over)
    for place, (panel, (title, series)) in enumerate(zip(panels, maps, strict=False)):
        _draw_map(panel, series, across, up, scale)
        name = f"{title}: {series.label}" if len(over.panels) > 1 else series.label
        names = [name, *(f"(does not depend on {key})" for key in series.missing_settings)]
        letters = max(24, 10 * len(across.texts))
        panel.set_title("\n".join(wrap_text(text, letters) for text in names), fontsize=10)
        if place % columns == 0:
            panel.set_ylabel(wrap_text(up.key, 40))
        if place + columns >= len(maps):
            panel.set_xlabel(wrap_text(across.key, 40))
            panel.tick_params(labelbottom=True)
    for panel in panels[len(maps) :]:
        panel.set_visible(False)
    bar = figure.colorbar(ScalarMappable(scale, _COLOURS), ax=list(panels), aspect=30)
    bar.ax.yaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    bar.set_label(f"final test accuracy{rho_suffix(over.merged.groups)}")
    head = f"Final accuracy over {across.key} and {up.key} ({clock_names(over.merged)} clock)"
    figure.suptitle(
        wrap_text(head, int(11 * figure.get_figwidth())), fontsize=13, fontweight="bold"
    )
    save(figure, path)


def _scale(over: SettingsComparison) -> Normalize:
    """Return one colour scale for all maps."""
    groups = [group for panel in over.panels for group in panel.groups]
    spreads = [group.spread(FINAL) for group in groups]
    means = [found.mean for found in spreads if found is not None] or [0.0, 1.0]
    middle, half = (min(means) + max(means)) / 2, max(_LEAST, max(means) - min(means)) / 2
    return Normalize(middle - half, middle + half)


def _draw_map(
    panel: Axes, series: Series, across: SettingValues, up: SettingValues, scale: Normalize
) -> None:
    for x, right in enumerate(across.texts):
        for y, above in enumerate(up.texts):
            _draw_cell(panel, x, y, series.at((right, above)), scale)
    panel.set_xlim(-0.5, len(across.texts) - 0.5)
    ends = (-0.5, len(up.texts) - 0.5)
    panel.set_ylim(*(ends if up.numbers else ends[::-1]))
    panel.set_xticks(range(len(across.texts)), [wrap_text(word, 60) for word in across.names])
    if max(map(len, across.names)) > _LONG:
        for text in panel.get_xticklabels():
            text.set(rotation=25, ha="right", rotation_mode="anchor")
    panel.set_yticks(range(len(up.texts)), [wrap_text(word, 16) for word in up.names])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


def _draw_cell(panel: Axes, x: int, y: int, group: Group | None, scale: Normalize) -> None:
    """Draw mean and deviation over the seeds in percent; a pale cell where there is nothing."""
    corner = (x - 0.5, y - 0.5)
    found = group.spread(FINAL) if group is not None else None
    if found is None:
        panel.add_patch(Rectangle(corner, 1, 1, facecolor="0.95", edgecolor="white", hatch="///"))
        words, ink = "no run" if group is None else "no model", "0.3"
    else:
        colour = _COLOURS(scale(found.mean))
        panel.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white"))
        words = f"{100 * found.mean:.1f}"
        if found.deviation is not None:
            words += f"\n± {100 * found.deviation:.1f}"
        red, green, blue, _ = colour
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT else "white"
    panel.text(x, y, words, ha="center", va="center", color=ink, fontsize=8)
