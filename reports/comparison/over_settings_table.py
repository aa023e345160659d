"""comparison-over.csv: every group of a comparison over settings, in plain units."""

from collections.abc import Iterator
from typing import Any

from reports.comparison.csv_table import as_csv, metric_columns
from reports.comparison.groups import Group
from reports.comparison.metrics import grid_metrics
from reports.comparison.over_settings import SettingsComparison


def over_csv(over: SettingsComparison) -> str:
    """Return one line for each value of each series; a setting that the runs lack stays empty."""
    return as_csv(list(_lines(over)))


def _lines(over: SettingsComparison) -> Iterator[dict[str, Any]]:
    order = {axis.key: axis.texts for axis in over.axes}
    for panel in over.panels:
        for series in panel.series:
            places = sorted(
                series.groups,
                key=lambda place: [
                    -1 if word is None else words.index(word)
                    for word, words in zip(place, order.values(), strict=True)
                ],
            )
            for place in places:
                group = series.groups[place]
                yield {
                    "section": panel.title,
                    "label": series.label,
                    **dict(zip(order, place, strict=True)),
                    "runs": len(group.runs),
                    "seeds": " ".join(str(run.seed) for run in group.runs),
                    **_metrics(group),
                }


def _metrics(group: Group) -> dict[str, Any]:
    """Return the columns of the metrics, with the target before the time to it."""
    columns: dict[str, Any] = {}
    for metric in grid_metrics():
        if metric.shown.only_with_target and "target_accuracy" not in columns:
            has_target = group.target is not None
            columns["target_accuracy"] = group.target
            columns["runs_that_reached_target"] = len(group.arrivals) if has_target else None
        columns |= metric_columns(metric, group)
    return columns
