"""Partitions: how the training set is distributed to the clients.

To add a kind, write a function that takes a `Deal` and returns disjoint index arrays, and add it to
PARTITIONS. Clients share samples only if the scenario says so (`shared`).
"""

from collections.abc import Sequence

import numpy as np

from contracts.errors import BadInput
from contracts.plugins import Plugin
from contracts.registry import Registry
from learning.data import dirichlet, labels_per_client, main_classes
from learning.data.deal import Deal, Partition

_STREAM = 0x70617274  # separates these draws from others made with the same seed


def make(
    kind: str,
    labels: np.ndarray,
    clients: int,
    samples_per_client: int | None,
    concentration: float | None,
    seed: int,
    shared: bool = False,
    homes: Sequence[tuple[int, ...]] | None = None,
    cells: int | None = None,
    labels_each: int | None = None,
) -> list[np.ndarray]:
    """Return for every client the indices of its training samples, determined by the seed.

    With `shared`, every client draws from the whole training set independently of the others, so
    two clients may hold the same sample. `homes` lists for every client the cells within its
    reach, its home cell first (see scenarios.cells). `labels_each` is the number of labels per
    client.
    """
    if shared and kind == "dirichlet-by-class":
        raise BadInput(
            "task.shared_samples: dirichlet-by-class deals each sample to one client; leave it out"
        )
    if shared:
        return [
            part
            for client in range(clients)
            for part in make(
                kind,
                labels,
                1,
                samples_per_client,
                concentration,
                _seed(seed, client),
                homes=homes and homes[client : client + 1],
                cells=cells,
                labels_each=labels_each,
            )
        ]
    PARTITIONS.check(kind, "task.partition")
    rng = np.random.default_rng((seed, _STREAM))
    deal = Deal(
        *(labels, clients, rng, samples_per_client, concentration, labels_each, homes, cells)
    )
    plugin = PARTITIONS.plugin(kind)
    return PARTITIONS[kind](deal) if plugin is None else _brought(plugin, kind, deal)


def _brought(plugin: Plugin, kind: str, deal: Deal) -> list[np.ndarray]:
    """Call a plug-in's partition; BadInput with its file and line if it deals wrongly."""
    try:
        parts = [np.asarray(part) for part in PARTITIONS[kind](deal)]
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(
            f'{plugin.blame(error, "PARTITIONS", kind)}: partition "{kind}" cannot be made'
            f" ({type(error).__name__}: {error}); correct it"
        ) from error
    place = f'{plugin.place("PARTITIONS", kind)}: partition "{kind}"'
    if len(parts) != deal.clients:
        raise BadInput(f"{place} has {len(parts)} parts for {deal.clients} clients; give each one")
    for number, part in enumerate(parts, 1):
        if part.ndim != 1 or part.dtype.kind not in "iu" or not len(part):
            raise BadInput(
                f"{place} gives client{number} {part.dtype}{part.shape}; give it a row of indices"
            )
    everything = np.concatenate(parts)
    if everything.min() < 0 or everything.max() >= len(deal.labels):
        raise BadInput(f"{place} has indices outside the {len(deal.labels)} training samples")
    if len(np.unique(everything)) < len(everything):
        raise BadInput(
            f"{place} deals samples twice; deal each once, and leave the rest to"
            " task.shared_samples = true"
        )
    return [part.astype(np.int64) for part in parts]


def _seed(seed: int, client: int) -> int:
    """Derive a seed for this client's own random stream."""
    return int(np.random.SeedSequence((seed, _STREAM, client)).generate_state(1, np.uint64)[0])


def iid(deal: Deal) -> list[np.ndarray]:
    """Deal every client samples drawn uniformly from all classes."""
    sizes = deal.sizes
    order = deal.rng.permutation(len(deal.labels)).astype(np.int64)
    return np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])


def _main_classes(deal: Deal) -> list[np.ndarray]:
    if deal.homes is None or deal.cells is None:
        raise BadInput('task.partition: main-classes needs cells; set topology.kind = "cells"')
    if len(deal.homes) != deal.clients:
        raise ValueError(f"{deal.clients} clients have {len(deal.homes)} homes")
    _ = deal.sizes  # refuses impossible ones
    return main_classes.deal(deal.labels, deal.homes, deal.cells, deal.samples_per_client, deal.rng)


def _labels_per_client(deal: Deal) -> list[np.ndarray]:
    if deal.labels_per_client is None:
        raise BadInput("task.labels_per_client: missing; labels-per-client needs it")
    _ = deal.sizes  # refuses impossible ones
    return labels_per_client.deal(
        deal.labels, deal.clients, deal.labels_per_client, deal.samples_per_client, deal.rng
    )


PARTITIONS: Registry[Partition] = Registry(
    "PARTITIONS",
    {
        "iid": iid,
        "dirichlet": dirichlet.dirichlet,
        "dirichlet-by-class": dirichlet.dirichlet_by_class,
        "labels-per-client": _labels_per_client,
        "main-classes": _main_classes,
    },
)


def sorted_by_class(parts: Sequence[np.ndarray], labels: np.ndarray) -> list[np.ndarray]:
    """Reorder every client's samples class by class, keeping the order within a class."""
    return [part[np.argsort(labels[part], kind="stable")] for part in parts]
