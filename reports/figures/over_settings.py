"""comparison-over.png: accuracy and time over the values of a setting."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from reports.comparison.groups import Group, Spread, rho_suffix
from reports.comparison.metrics import ELAPSED, FINAL, TIME, Metric
from reports.comparison.over_settings import Panel, Series, SettingsComparison
from reports.comparison.setting_values import SettingValues, spans_decades
from reports.figures.accuracy import time_unit
from reports.figures.canvas import new_figure, plain_frame, save
from reports.figures.comparison import clock_names
from reports.figures.comparison_legend import (
    LineStyle,
    legend_entry,
    line_styles,
    place_legend,
    wrap_text,
)
from reports.figures.heat_map import draw_heat_maps
from reports.figures.means import (
    RANGE_LEGEND_ENTRY,
    draw_hollow,
    draw_means,
    format_accuracy_axis,
    side_by_side_offsets,
)

_CLOSE = 0.045  # values closer than this share of the axis cannot both be labelled
_LONG = 34  # letters that fit along an axis
_ROW = 0.07  # share of a panel that each series needs which missed the target
_BAND = "0.93"


@dataclass(frozen=True)
class Times:
    """What a panel of times shows."""

    label: str
    scale: float
    metric: Metric

    def scaled(self, group: Group) -> Spread | None:
        """Return a group's times in the unit of the panel."""
        found = group.spread(self.metric)
        if found is None:
            return None
        return Spread(
            found.mean / self.scale, None, found.least / self.scale, found.most / self.scale
        )


def draw_over_settings(path: Path, over: SettingsComparison) -> None:
    """For one setting draw accuracy above time, a column a scenario; for two, heat maps."""
    if len(over.axes) > 1:
        draw_heat_maps(path, over)
        return
    (axis,) = over.axes
    looks = line_styles(over.merged)
    count = len(over.panels)
    width = 8.0 if count == 1 else 4.6 * count
    figure = new_figure(width, 7.0, pad=0.08, hspace=0.04, wspace=0.03)
    legend = place_legend(figure, _entries(over, looks))
    figure.set_figheight(7.0 + 0.25 * legend)
    axes = figure.subplots(2, count, squeeze=False, sharex=True)
    for place, panel in enumerate(over.panels):
        above, below = axes[:, place]
        times = panel_times(over, panel)
        _draw_accuracies(above, panel, axis, looks)
        draw_times(below, panel, axis, looks, times)
        format_value_axis(below, axis, count)
        above.set_title(wrap_text(panel.title, 90 if count == 1 else 44), fontsize=11)
        below.set_xlabel(wrap_text(axis.key, 90))
        if place == 0:
            above.set_ylabel(f"final test accuracy{rho_suffix(over.merged.groups)}")
        if place == 0 or times.label != axes[1, 0].get_ylabel():
            below.set_ylabel(times.label)
    title = f"Accuracy and time over {axis.key} ({clock_names(over.merged)} clock)"
    figure.suptitle(wrap_text(title, 90), fontsize=13, fontweight="bold")
    save(figure, path)


def panel_times(over: SettingsComparison, panel: Panel) -> Times:
    """Choose the time to the target, or of the whole run where there is no target."""
    targets = sorted({group.target for group in panel.groups if group.target is not None})
    metric = TIME if targets else ELAPSED
    spreads = [group.spread(metric) for p in over.panels for group in p.groups]
    scale, unit = time_unit(max((s.most for s in spreads if s is not None), default=0.0))
    what = f"time to {' or '.join(f'{100 * target:g} %' for target in targets)}"
    return Times(f"{what if targets else 'elapsed time of the run'} ({unit})", scale, metric)


def _draw_accuracies(
    axes: Axes, panel: Panel, axis: SettingValues, looks: dict[str, LineStyle]
) -> None:
    plain_frame(axes)
    for series, shift in _side_by_side(panel):
        _draw_series(axes, series, axis, looks[series.label], shift, _final)
    format_accuracy_axis(axes, [found for g in panel.groups if (found := _final(g)) is not None])


def draw_times(
    axes: Axes, panel: Panel, axis: SettingValues, looks: dict[str, LineStyle], times: Times
) -> None:
    """Draw mean times along the axis and, above them, the groups that missed the target."""
    plain_frame(axes)
    for series, shift in _side_by_side(panel):
        look = looks[series.label]
        _draw_series(axes, series, axis, look, shift, times.scaled)
        for (word,), group in series.groups.items():
            found = times.scaled(group)
            if word is not None and found is not None and _partly(group):
                draw_hollow(axes, axis.position(word), found.mean, look, shift)
    late = [series for series in panel.series if any(map(_never, series.groups.values()))]
    band = min(0.5, 0.05 + _ROW * len(late)) if late else 0.0
    known = [found for group in panel.groups if (found := times.scaled(group)) is not None]
    _format_time_axis(axes, known, band)
    if late:
        _draw_late(axes, late, axis, looks, band)


def _side_by_side(panel: Panel) -> list[tuple[Series, float]]:
    """Return each series with its offset; lines across the panel need none."""
    have = [series for series in panel.series if not series.missing_settings]
    lack = [(series, 0.0) for series in panel.series if series.missing_settings]
    return [*zip(have, side_by_side_offsets(len(have), panel.groups), strict=True), *lack]


def _draw_series(
    axes: Axes,
    series: Series,
    axis: SettingValues,
    look: LineStyle,
    shift: float,
    of: Callable[[Group], Spread | None],
) -> None:
    if series.missing_settings:
        (group,) = series.groups.values()
        if (found := of(group)) is not None:
            _draw_across(axes, found, look)
        return
    words = [word for word in axis.texts if (word,) in series.groups]
    points = [(axis.position(word), of(series.groups[word,])) for word in words]
    draw_means(axes, points, look, shift)


def _draw_across(axes: Axes, spread: Spread, look: LineStyle) -> None:
    axes.axhline(spread.mean, color=look["color"], linestyle=look["linestyle"], linewidth=2)
    if spread.least < spread.most:
        axes.axhspan(spread.least, spread.most, color=look["color"], alpha=0.12, linewidth=0)


def _draw_late(
    axes: Axes, late: list[Series], axis: SettingValues, looks: dict[str, LineStyle], band: float
) -> None:
    """Draw a band above all times with a row for each series that missed the target somewhere."""
    whole = Rectangle((0, 1 - band), 1, band, transform=axes.transAxes, color=_BAND, linewidth=0)
    axes.add_patch(whole).set_zorder(0)
    axes.annotate(
        "target not reached",
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(4, 2),
        textcoords="offset points",
        fontsize=9,
        color="0.3",
    )
    height = band / (len(late) + 1)
    for row, series in enumerate(late):
        look, y = looks[series.label], 1 - height * (row + 1)
        if series.missing_settings:
            line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 2}
            axes.plot([0, 1], [y, y], transform=axes.transAxes, **line)
            continue
        never = [word for (word,), group in series.groups.items() if _never(group)]
        places = [axis.position(word) for word in never if word is not None]
        dots = {"color": look["color"], "marker": look["marker"], "linestyle": "none"}
        axes.plot(
            places, [y] * len(places), transform=axes.get_xaxis_transform(), markersize=6, **dots
        )


def _format_time_axis(axes: Axes, known: list[Spread], band: float) -> None:
    """Start at zero, or use a logarithmic axis for decades; leave room for the band."""
    if not known:
        axes.set_yticks([])
        return
    low, high = min(spread.least for spread in known), max(spread.most for spread in known)
    if low > 0 and spans_decades([low, high]):
        axes.set_yscale("log")
        low, high = low / 1.3, high * 1.3
        axes.set_ylim(low, low * (high / low) ** (1 / (1 - band)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        return
    top = (1.08 * high or 1.0) / (1 - band)
    axes.set_ylim(0, top)
    ticks = MaxNLocator(nbins=7, steps=[1, 2, 5, 10]).tick_values(0, top)
    axes.set_yticks([tick for tick in ticks if 0 <= tick <= (1 - band) * top])


def format_value_axis(axes: Axes, axis: SettingValues, columns: int) -> None:
    """Label every value, except where labels would overlap."""
    places = [axis.position(word) for word in axis.texts]
    if axis.logarithmic:
        axes.set_xscale("log")
        margin = (places[-1] / places[0]) ** 0.05
        axes.set_xlim(places[0] / margin, places[-1] * margin)
    else:
        margin = 0.06 * (places[-1] - places[0]) if axis.numbers else 0.5
        axes.set_xlim(places[0] - margin, places[-1] + margin)
    named = dict(zip(places, axis.names, strict=True))
    if axis.numbers:
        named = _apart(axes, named, columns)
    tilted = sum(len(word) + 2 for word in named.values()) * columns > 2 * _LONG
    axes.set_xticks(list(named), [wrap_text(word, 60) for word in named.values()])
    axes.xaxis.set_minor_locator(NullLocator())
    if tilted:
        for text in axes.get_xticklabels():
            text.set(rotation=25, ha="right", rotation_mode="anchor")


def _apart(axes: Axes, named: dict[float, str], columns: int) -> dict[float, str]:
    to_axes = axes.transScale + axes.transLimits
    kept: dict[float, str] = {}
    last = -1.0
    for place, word in named.items():
        (x, _) = to_axes.transform((place, 1.0))
        if x - last >= _CLOSE * min(columns, 2):
            kept[place], last = word, x
    return kept


def _entries(over: SettingsComparison, looks: dict[str, LineStyle]) -> list[tuple[Line2D, str]]:
    (axis,) = over.axes
    all_series = [series for panel in over.panels for series in panel.series]
    drawn = dict.fromkeys((series.label, bool(series.missing_settings)) for series in all_series)
    entries = [
        legend_entry(label, looks[label] | ({"marker": None} if missing_settings else {}))
        for label, missing_settings in drawn
    ]
    groups = [group for series in all_series for group in series.groups.values()]
    if any(len(group.runs) > 1 for group in groups):
        entries.append(RANGE_LEGEND_ENTRY)
    if any(map(_partly, groups)):
        hollow = Line2D([], [], color="grey", marker="o", markersize=7, linestyle="none")
        hollow.set(markerfacecolor="white", markeredgewidth=1.5)
        entries.append((hollow, "reached by some seeds only"))
    if any(series.missing_settings for series in all_series):
        words = f"without marks: does not depend on {axis.key}"
        entries.append((Line2D([], [], linestyle="none"), wrap_text(words, 60)))
    return entries


def _final(group: Group) -> Spread | None:
    return group.spread(FINAL)


def _never(group: Group) -> bool:
    return group.target is not None and not group.arrivals


def _partly(group: Group) -> bool:
    return bool(group.arrivals) and not group.all_reached
