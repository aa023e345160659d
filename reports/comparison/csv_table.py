"""comparison.csv: all numbers of a comparison in plain units, one line for each group."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from contracts.tables import plain_cell
from reports.comparison.groups import Comparison, Group, Section, Spread
from reports.comparison.metrics import ALL_STATISTICS, Metric, SpeedUp, Statistic, all_metrics
from reports.comparison.paired import paired_ratio

_DECIMALS = 6


def comparison_csv(comparison: Comparison) -> str:
    """Return the file's text: seconds, bytes and shares; empty where there is no value."""
    return as_csv(
        [_line(section, group) for section in comparison.sections for group in section.groups]
    )


def as_csv(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a header and one line for each of these mappings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        cells = {key: plain_cell(v) if isinstance(v, str) else v for key, v in line.items()}
        writer.writerow(cells)
    return text.getvalue()


def _line(section: Section, group: Group) -> dict[str, Any]:
    first = group.runs[0]
    return {
        "section": section.title,
        "label": group.label,
        "scenario": first.name,
        "size": first.size,
        "variant": first.variant,
        "protocol": first.protocol,
        "clock": first.clock,
        "runs": len(group.runs),
        "seeds": " ".join(str(run.seed) for run in group.runs),
        "target_accuracy": group.target,
        "runs_that_reached_target": len(group.arrivals) if group.target is not None else None,
        **_metrics(section, group),
        "fidelity": group.verdict,
    }


def metric_columns(
    metric: Metric, group: Group, parts: Sequence[Statistic] = ALL_STATISTICS
) -> dict[str, float | None]:
    """Return columns with these statistics of a metric over a group."""
    return spread_columns(metric.csv, group.spread(metric), parts)


def spread_columns(
    name: str, value: Spread | None, parts: Sequence[Statistic] = ALL_STATISTICS
) -> dict[str, float | None]:
    """Return one column for each statistic, with names that start with `name`."""
    return {f"{name}_{part}": _rounded(getattr(value, part, None)) for part in parts}


def _metrics(section: Section, group: Group) -> dict[str, Any]:
    """Return the columns of all metrics, with the baseline's name before the speed-ups."""
    columns: dict[str, Any] = {}
    for row in all_metrics():
        if isinstance(row, SpeedUp):
            columns.setdefault("baseline", section.baseline.label if section.baseline else None)
            columns[row.csv] = _rounded(section.speed_up(group, row.metric))
            columns |= _paired(section, group, row)
        else:
            columns |= metric_columns(row, group, row.csv_statistics)
    return columns


def _paired(section: Section, group: Group, row: SpeedUp) -> dict[str, float | None]:
    """Return the speed-up over pairs of equal seed, with its 95 % interval."""
    base = section.baseline
    found = None
    if base is not None and base is not group and base.target == group.target:
        found = paired_ratio(base, group, row.metric)
    low, high = (found and found.interval) or (None, None)
    return {
        f"paired_{row.csv}": _rounded(found.mean) if found else None,
        f"paired_{row.csv}_low": _rounded(low),
        f"paired_{row.csv}_high": _rounded(high),
        f"paired_{row.csv}_pairs": found.pairs if found else None,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
