"""Draw the server's own samples D_0, as the scenario's [server_data] says (FSL, section V)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from contracts.errors import BadInput
from learning.data import letters, stl10
from learning.data.dataset import Dataset

_STREAM = 0x73727672  # separates these draws from others made with the same seed

Samples = tuple[np.ndarray, np.ndarray]  # inputs (n_0, ...) and labels int64


class ServerData(Protocol):
    """A scenario's section [server_data]; only the keys of its kind are set."""

    @property
    def kind(self) -> str:
        """Where the samples come from: iid, clients or source."""

    @property
    def samples(self) -> int | None:
        """How many samples the server has."""

    @property
    def clients(self) -> int | None:
        """How many clients give samples to the server."""

    @property
    def samples_per_client(self) -> int | None:
        """How many samples each of these clients gives."""

    @property
    def source(self) -> str | None:
        """The data set that the samples are taken from."""

    @property
    def per_class(self) -> int | None:
        """How many samples of each class the server has."""


def gather(
    section: ServerData,
    dataset: Dataset,
    partition: Sequence[np.ndarray],
    seed: int,
    data_dir: Path | None = None,
) -> Samples:
    """Return the server's inputs and labels, determined by the seed."""
    rng = np.random.default_rng((seed, _STREAM))
    if section.kind == "source":
        return _from_source(section, dataset, data_dir, rng)
    if section.kind == "iid":
        indices = _balanced(section.samples or 0, dataset, rng)
    else:
        c, s = section.clients or 0, section.samples_per_client or 0
        indices = _of_clients(c, s, partition, rng)
    return dataset.train_inputs[indices], dataset.train_labels[indices]


def _balanced(samples: int, dataset: Dataset, rng: np.random.Generator) -> np.ndarray:
    """Draw equally many samples of each class; the remainder goes to classes chosen at random.

    They are drawn from all training samples, so a client may have them too, as FSL allows.
    """
    each, more = divmod(samples, dataset.classes)
    lucky = set(rng.permutation(dataset.classes)[:more].tolist())
    drawn = []
    for label in range(dataset.classes):
        there = np.flatnonzero(dataset.train_labels == label)
        wanted = each + (label in lucky)
        if wanted > len(there):
            raise BadInput(
                f"server_data.samples: {samples} are {wanted} of class {label}, and the training"
                f" set has {len(there)}; ask for at most {len(there) * dataset.classes}"
            )
        drawn.append(rng.choice(there, wanted, replace=False))
    return rng.permutation(np.concatenate(drawn))


def _of_clients(
    c: int, s: int, partition: Sequence[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    """Draw c clients at random, and s samples from each at random."""
    if c > len(partition):
        raise BadInput(
            f"server_data.clients: {c} of {len(partition)} clients; ask for at most"
            f" {len(partition)}"
        )
    chosen = rng.permutation(len(partition))[:c]
    fewest = min(len(partition[client]) for client in chosen)
    if s > fewest:
        raise BadInput(
            f"server_data.samples_per_client: {s}, and one of the {c} clients has {fewest}; ask"
            f" for at most {fewest}"
        )
    drawn = [rng.choice(partition[client], s, replace=False) for client in chosen]
    return rng.permutation(np.concatenate(drawn))


def _from_source(
    section: ServerData, dataset: Dataset, data_dir: Path | None, rng: np.random.Generator
) -> Samples:
    """Take `per_class` samples of each class from the other source, with the data set's labels."""
    per_class = section.per_class or 0
    if section.source == "letters":
        return letters.draw(dataset.classes, per_class)
    return stl10.pick(data_dir, dataset.classes, per_class, rng)
