"""How soon a run became accurate: rolling mean accuracy, T_90 and T_0.5 (FSL, section V-A).

The rolling mean of a round covers the last 20 rounds up to it, or all of them while there are
fewer, so even the first round can count as risen. Round 0, the initial model, is not a round of
training and is left out. T_90 is the first round whose rolling mean is at least 90 % of the last
round's; T_0.5 is the first whose rolling mean is at least one half. Both are also given in elapsed
seconds.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

WINDOW = 20  # rounds
_RISEN = 0.9
_HALF = 0.5
_ROUNDING = 1e-12  # tolerance for a mean that equals the threshold


@dataclass(frozen=True)
class RiseTimes:
    """The rise times of a run; None where no round was evaluated, or none got that far."""

    rolling_accuracy: float | None = None  # of the last round
    rise_rounds: int | None = None
    rise_seconds: float | None = None
    half_rounds: int | None = None
    half_seconds: float | None = None


def rise_times(evaluated: Iterable[tuple[int, float, float | None]]) -> RiseTimes:
    """Compute them from (round, elapsed seconds, accuracy); rounds without accuracy are skipped."""
    window: deque[tuple[int, float]] = deque()
    means: list[tuple[int, float, float]] = []
    for round, seconds, accuracy in evaluated:
        if round == 0 or accuracy is None:
            continue
        window.append((round, accuracy))
        while window[0][0] <= round - WINDOW:
            window.popleft()
        means.append((round, seconds, fmean(value for _, value in window)))
    if not means:
        return RiseTimes()
    *_, final = means[-1]
    risen, half = _first(means, _RISEN * final), _first(means, _HALF)
    return RiseTimes(final, *risen, *half)


def _first(
    means: list[tuple[int, float, float]], threshold: float
) -> tuple[int, float] | tuple[None, None]:
    for round, seconds, mean in means:
        if mean >= threshold - _ROUNDING:
            return round, seconds
    return None, None
