"""What a partition of the training set is made from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from contracts.errors import BadInput


@dataclass(frozen=True)
class Deal:
    """What a partition is made from: the labels of the training set, and what the scenario says."""

    labels: np.ndarray
    clients: int
    rng: np.random.Generator  # the only source of chance, seeded by the run's seed
    samples_per_client: int | None = None
    concentration: float | None = None
    labels_per_client: int | None = None
    homes: Sequence[tuple[int, ...]] | None = None  # on cells: each client's, its home cell first
    cells: int | None = None

    @property
    def sizes(self) -> list[int]:
        """How many samples each client is to get; BadInput if there are not that many."""
        return _sizes(len(self.labels), self.clients, self.samples_per_client)


Partition = Callable[[Deal], list[np.ndarray]]  # for each client the indices of its samples


def _sizes(available: int, clients: int, samples_per_client: int | None) -> list[int]:
    if clients < 1:
        raise BadInput(f"task.partition: {clients} clients cannot share data; ask for at least 1")
    if samples_per_client is None:
        if clients > available:
            raise BadInput(
                f"task.partition: {clients} clients cannot share {available} training samples;"
                " ask for fewer clients or a larger data set"
            )
        return [available // clients + (i < available % clients) for i in range(clients)]
    if samples_per_client < 1:
        raise BadInput(
            f"task.samples_per_client: {samples_per_client} is too few; ask for at least 1"
        )
    if clients * samples_per_client > available:
        raise BadInput(
            f"task.samples_per_client: {clients} clients with {samples_per_client} samples each"
            f" need {clients * samples_per_client} and the training set has {available}; ask for"
            f" at most {available // clients}, fewer clients, or task.shared_samples = true"
        )
    return [samples_per_client] * clients
