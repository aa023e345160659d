"""The unweighted mean of a round's models, one from each edge server."""

from collections.abc import Mapping

import numpy as np

from protocols.averaging import WeightedMean
from protocols.base import Tensors

MAX_BYTES = 512 * 2**20


class RoundAverages:
    """Keeps a running mean for each incomplete round, within a bound on memory."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._means: dict[int, tuple[WeightedMean, set[str]]] = {}
        self._closed: set[int] = set()
        self._sum_bytes = 0  # of one round's sum; all models have the same shape

    def add(
        self, round: int, key: str, of: int, tensors: Mapping[str, np.ndarray]
    ) -> Tensors | None:
        """Add one of the `of` models of this round; return their mean once all have come.

        Each key (an edge server's name) counts once per round, even if its model comes twice.
        """
        if round in self._closed:
            return None
        mean, keys = self._means.setdefault(round, (WeightedMean(), set()))
        if key not in keys:
            mean.add(dict(tensors), 1)
            keys.add(key)
            self._sum_bytes = sum(tensor.size * 8 for tensor in tensors.values())
        if len(keys) < of:
            return None
        self._close(round)
        return mean.mean()

    def lacks_others(self, round: int) -> bool:
        """Return whether this round has begun and waits for more models."""
        return round in self._means

    def drop_oldest(self) -> list[int]:
        """Drop the rounds begun first until the rest fits in memory; return the dropped rounds.

        Edge servers may be many rounds apart, and one that has ended leaves its rounds incomplete.
        """
        dropped = []
        while len(self._means) > 1 and len(self._means) * self._sum_bytes > self._max_bytes:
            dropped.append(next(iter(self._means)))
            self._close(dropped[-1])
        return dropped

    def _close(self, round: int) -> None:
        del self._means[round]
        self._closed.add(round)
