"""Comparisons seed by seed: runs with the same seed have the same data and the same first model.

What differs between seeds then cancels out, and what is left is what the methods make of it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from reports.comparison.groups import Group, Section
from reports.comparison.metrics import ROUNDS, TIME, Metric

# Student's t for two-sided 95 %, by degrees of freedom from 1. Beyond, the last is kept: at most
# 6 % wider than it need be.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)


@dataclass(frozen=True)
class PairedRatio:
    """How many times less of something a group needs than the baseline, over their common seeds.

    The mean is geometric, and so is the 95 % interval around it (None for a single pair).
    """

    mean: float
    interval: tuple[float, float] | None
    pairs: int
    better: int  # in so many of them
    lacking: int  # common seeds of which one or both did not get there


def paired_ratio(base: Group, group: Group, metric: Metric) -> PairedRatio | None:
    """Compare the runs of equal seed; None if there is no pair with both numbers."""
    ours, theirs = by_seed(group, metric), by_seed(base, metric)
    common = sorted(ours.keys() & theirs.keys())
    known = [(a, b) for seed in common if (a := theirs[seed]) and (b := ours[seed])]
    if not known:
        return None
    logs = [math.log(a / b) for a, b in known]
    mean, around = mean_and_interval(logs)
    interval = None if around is None else (math.exp(around[0]), math.exp(around[1]))
    better = sum(value > 0 for value in logs)
    return PairedRatio(math.exp(mean), interval, len(known), better, len(common) - len(known))


def mean_and_interval(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean and its 95 % interval by Student's t, which a single value does not have."""
    mean = fmean(values)
    if len(values) < 2:
        return mean, None
    half = _T[min(len(values) - 1, len(_T)) - 1] * stdev(values) / math.sqrt(len(values))
    return mean, (mean - half, mean + half)


def by_seed(group: Group, metric: Metric) -> dict[int, float | None]:
    """Return the metric of each run by its seed."""
    return dict(zip((run.seed for run in group.runs), group.values(metric), strict=True))


def paired_notes(section: Section) -> Iterator[str]:
    """Yield one sentence for each group that has pairs with the baseline."""
    base = section.baseline
    if base is None or len(base.runs) < 2:
        return
    for group in section.groups:
        if group is base or group.target != base.target:
            continue
        found = [(word, paired_ratio(base, group, m)) for word, m in _ASPECTS]
        told = [f"{word} {_words(ratio)}" for word, ratio in found if ratio is not None]
        pairs = next((ratio for _, ratio in found if ratio is not None), None)
        if pairs is not None:
            yield (
                f"paired by seed, {group.label} against {base.label}: {', '.join(told)}; faster in "
                f"{pairs.better} of {pairs.pairs}{_missing(pairs)}"
            )


_ASPECTS = (("time", TIME), ("rounds", ROUNDS))


def _words(ratio: PairedRatio) -> str:
    if ratio.interval is None:
        return f"{ratio.mean:.2f} x"
    low, high = ratio.interval
    return f"{ratio.mean:.2f} x (95 %: {low:.2f} to {high:.2f})"


def _missing(ratio: PairedRatio) -> str:
    return f"; {ratio.lacking} more without a time" if ratio.lacking else ""
