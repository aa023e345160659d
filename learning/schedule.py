"""The learning rate of a round between a client and its server. No torch here."""

from collections.abc import Mapping
from typing import Any


def rate(training: Mapping[str, Any], round: int) -> float:
    """The rate in this round, counted from 1: decayed by a factor after each one, and a tenth from
    every round on at which it drops. Where an edge holds several rounds in a global iteration,
    each of them counts."""
    decay = float(training.get("learning_rate_decay", 1.0)) ** (round - 1)
    drops = sum(round >= first for first in training.get("learning_rate_drops", ()))
    # One division by a whole number: .01 becomes .001 and .0001, not their neighbours.
    return float(training["learning_rate"]) * decay / 10**drops
