"""comparison.csv: every number of a comparison in plain units, one line for each group."""

import csv
import io
from typing import Any

from reports.comparison import Comparison, Group, Section, Spread

_DECIMALS = 6


def comparison_csv(comparison: Comparison) -> str:
    """Seconds, bytes and shares; empty where there is nothing to say."""
    lines = [_line(section, group) for section in comparison.sections for group in section.groups]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _line(section: Section, group: Group) -> dict[str, Any]:
    first = group.runs[0]
    time = group.time
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
        "seconds_to_target_mean": _mean(time),
        "seconds_to_target_deviation": _rounded(time.deviation) if time else None,
        "seconds_to_target_least": _rounded(time.least) if time else None,
        "seconds_to_target_most": _rounded(time.most) if time else None,
        "baseline": section.baseline.label if section.baseline else None,
        "speed_up": _rounded(section.speed_up(group)),
        "final_accuracy_mean": _mean(group.final),
        "best_accuracy_mean": _mean(group.best),
        "best_accuracy_most": group.best.most if group.best else None,
        "bytes_to_target_mean": _mean(group.bytes_to_target),
        "bytes_on_wire_mean": _mean(group.bytes_on_wire),
        "fidelity": group.verdict,
    }


def _mean(value: Spread | None) -> float | None:
    return None if value is None else _rounded(value.mean)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
