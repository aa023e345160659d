"""comparison.csv: every number of a comparison in plain units, one line for each group."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from reports.comparison import Comparison, Group, Section, Spread

_DECIMALS = 6


def comparison_csv(comparison: Comparison) -> str:
    """Seconds, bytes and shares; empty where there is nothing to say."""
    return as_csv(
        [_line(section, group) for section in comparison.sections for group in section.groups]
    )


def as_csv(lines: Sequence[Mapping[str, Any]]) -> str:
    """A header and a line for each."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
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
        "rounds_to_target_mean": _mean(group.rounds),
        **spread_columns("seconds_to_target", group.time),
        "baseline": section.baseline.label if section.baseline else None,
        "speed_up": _rounded(section.speed_up(group)),
        "speed_up_in_rounds": _rounded(section.speed_up_in_rounds(group)),
        "final_accuracy_mean": _mean(group.final),
        "best_accuracy_mean": _mean(group.best),
        "best_accuracy_most": group.best.most if group.best else None,
        "rolling_accuracy_mean": _mean(group.rolling),
        "rise_rounds_mean": _mean(group.rise_rounds),
        **spread_columns("rise_seconds", group.rise_time),
        "half_rounds_mean": _mean(group.half_rounds),
        **spread_columns("half_seconds", group.half_time),
        "bytes_to_target_mean": _mean(group.bytes_to_target),
        "bytes_on_wire_mean": _mean(group.bytes_on_wire),
        "local_training_seconds_mean": _mean(group.local_training),
        "fidelity": group.verdict,
    }


def spread_columns(name: str, value: Spread | None) -> dict[str, float | None]:
    """Its mean, deviation, least and most, under names that start so."""
    parts = ("mean", "deviation", "least", "most")
    return {f"{name}_{part}": _rounded(getattr(value, part, None)) for part in parts}


def _mean(value: Spread | None) -> float | None:
    return None if value is None else _rounded(value.mean)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
