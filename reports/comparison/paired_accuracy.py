"""Differences of accuracy seed by seed, with an interval: who is better, and how sure that is.

Runs that ended at their target are left out: the faster a method is, the sooner its run ended.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.comparison.groups import Group, Section
from reports.comparison.metrics import BEST, FINAL, ROLLING, Metric
from reports.comparison.paired import by_seed, mean_and_interval
from reports.comparison.rise_time import WINDOW

_ASPECTS = (("final", FINAL), ("best", BEST), (f"last {WINDOW}", ROLLING))


@dataclass(frozen=True)
class PairedDifference:
    """By how much a group is more accurate than the baseline, over their common seeds."""

    mean: float
    interval: tuple[float, float] | None  # 95 %; None for a single pair
    pairs: int
    better: int  # in so many of them


def paired_difference(base: Group, group: Group, metric: Metric) -> PairedDifference | None:
    """Compare the runs of equal seed; None if there is no pair with both numbers."""
    ours, theirs = by_seed(group, metric), by_seed(base, metric)
    found = [
        a - b
        for seed in sorted(ours.keys() & theirs.keys())
        if (a := ours[seed]) is not None and (b := theirs[seed]) is not None
    ]
    if not found:
        return None
    mean, interval = mean_and_interval(found)
    return PairedDifference(mean, interval, len(found), sum(value > 0 for value in found))


def paired_accuracy_notes(section: Section) -> Iterator[str]:
    """Yield one sentence for each group that has pairs with the baseline."""
    base = accuracy_baseline(section)
    if base is None or len(base.runs) < 2 or _ended_early(base):
        return
    for group in section.groups:
        if group is base or _ended_early(group):
            continue
        found = [(word, paired_difference(base, group, metric)) for word, metric in _ASPECTS]
        told = [f"{word} {_words(value)}" for word, value in found if value is not None]
        first = next((value for _, value in found if value is not None), None)
        if first is not None:
            yield (
                f"points by seed, {group.label} against {base.label}: {', '.join(told)}; better at "
                f"the end in {first.better} of {first.pairs}"
            )


def accuracy_baseline(section: Section) -> Group | None:
    """The baseline, also one that did not reach the target, if there is no choice."""
    candidates = section.baseline_candidates
    return candidates[0] if len(candidates) == 1 else section.baseline


def _ended_early(group: Group) -> bool:
    return any(run.identity.get("stop") == "target" for run in group.runs)


def _words(value: PairedDifference) -> str:
    mean = f"{100 * value.mean:+.1f}"
    if value.interval is None:
        return mean
    low, high = value.interval
    return f"{mean} (95 %: {100 * low:+.1f} to {100 * high:+.1f})"
