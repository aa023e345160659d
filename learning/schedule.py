"""The learning rate of a global iteration. No torch here."""

from collections.abc import Mapping
from typing import Any


def rate(training: Mapping[str, Any], iteration: int) -> float:
    """The rate in this global iteration, counted from 1: decayed by a factor after each one, and
    a tenth from every iteration on at which it drops."""
    decay = float(training.get("learning_rate_decay", 1.0)) ** (iteration - 1)
    drops = sum(iteration >= first for first in training.get("learning_rate_drops", ()))
    # One division by a whole number: .01 becomes .001 and .0001, not their neighbours.
    return float(training["learning_rate"]) * decay / 10**drops
