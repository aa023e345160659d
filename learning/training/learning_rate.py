"""The learning rate schedule, by local round (a round between a client and its server).

Nothing here imports torch, because nodes use it.
"""

from contracts.training import TrainingSettings


def learning_rate_in(training: TrainingSettings, local_round: int) -> float:
    """Return the learning rate in this local round, counted from 1.

    It decays by a factor after each local round, and drops to a tenth at each of the given rounds.
    If an edge holds several local rounds within a global one, each of them counts.
    """
    decay = training.learning_rate_decay ** (local_round - 1)
    drops = sum(local_round >= first for first in training.learning_rate_drops)
    # One division by an integer, so that .01 becomes exactly .001 and .0001.
    divisor: int = 10**drops
    return training.learning_rate * decay / divisor
