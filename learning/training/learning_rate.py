"""The learning rate of a local round: one between a client and its server. No torch here."""

from contracts.training import TrainingSettings


def learning_rate_in(training: TrainingSettings, local_round: int) -> float:
    """The rate in this local round, counted from 1: decayed by a factor after each one, and a tenth
    from every round on at which it drops. Where an edge holds several local rounds in a global
    one, each of them counts."""
    decay = training.learning_rate_decay ** (local_round - 1)
    drops = sum(local_round >= first for first in training.learning_rate_drops)
    # One division by a whole number: .01 becomes .001 and .0001, not their neighbours.
    divisor: int = 10**drops
    return training.learning_rate * decay / divisor
