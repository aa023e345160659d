"""Partitions: how the training set is distributed to the clients.

To add a kind, write a function that returns disjoint index arrays, and add its name to NAMES and a
case to `make`. Clients share samples only if the scenario says so (`shared`).
"""

import difflib
from collections.abc import Sequence

import numpy as np

from contracts.errors import BadInput
from learning.data import labels_per_client, main_classes

NAMES = ("iid", "dirichlet", "dirichlet-by-class", "labels-per-client", "main-classes")
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
    rng = np.random.default_rng((seed, _STREAM))
    match kind:
        case "iid":
            return iid(labels, clients, samples_per_client, rng)
        case "dirichlet" | "dirichlet-by-class":
            if concentration is None:
                raise BadInput(
                    f"task.partition: {kind} needs a concentration above 0, for example 0.5"
                )
            if not concentration > 0:
                raise BadInput(
                    f"task.partition: the concentration must be above 0, not {concentration};"
                    " small values give each client few classes, large ones approach iid"
                )
            deal = dirichlet if kind == "dirichlet" else dirichlet_by_class
            return deal(labels, clients, concentration, samples_per_client, rng)
        case "main-classes":
            if homes is None or cells is None:
                raise BadInput(
                    'task.partition: main-classes needs cells; set topology.kind = "cells"'
                )
            if len(homes) != clients:
                raise ValueError(f"{clients} clients have {len(homes)} homes")
            _sizes(len(labels), clients, samples_per_client)  # refuses impossible sizes
            return main_classes.deal(labels, homes, cells, samples_per_client, rng)
        case "labels-per-client":
            if labels_each is None:
                raise BadInput("task.labels_per_client: missing; labels-per-client needs it")
            _sizes(len(labels), clients, samples_per_client)
            return labels_per_client.deal(labels, clients, labels_each, samples_per_client, rng)
    close = difflib.get_close_matches(kind.lower(), NAMES, 1)
    hint = f'did you mean "{close[0]}"? ' if close else ""
    raise BadInput(f'task.partition: unknown kind "{kind}"; {hint}(there are {", ".join(NAMES)})')


def _seed(seed: int, client: int) -> int:
    """Derive a seed for this client's own random stream."""
    return int(np.random.SeedSequence((seed, _STREAM, client)).generate_state(1, np.uint64)[0])


def iid(
    labels: np.ndarray, clients: int, samples_per_client: int | None, rng: np.random.Generator
) -> list[np.ndarray]:
    """Give every client samples drawn uniformly from all classes."""
    sizes = _sizes(len(labels), clients, samples_per_client)
    order = rng.permutation(len(labels)).astype(np.int64)
    return np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])


def dirichlet(
    labels: np.ndarray,
    clients: int,
    concentration: float,
    samples_per_client: int | None,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Draw every client's class proportions from a symmetric Dirichlet distribution.

    When a class has run out, a client takes more of its other classes, and finally of whatever is
    left, so that all clients get their full number of samples.
    """
    sizes = _sizes(len(labels), clients, samples_per_client)
    classes = np.unique(labels)
    stock = [rng.permutation(np.flatnonzero(labels == c)).astype(np.int64) for c in classes]
    left = np.array([len(indices) for indices in stock])
    parts = []
    for size in sizes:
        proportions = rng.dirichlet(np.full(len(classes), concentration))
        taken = _take(proportions, left, size)
        drawn = [s[n - t : n] for s, n, t in zip(stock, left, taken, strict=True)]
        left -= taken
        parts.append(rng.permutation(np.concatenate(drawn)))
    return parts


def dirichlet_by_class(
    labels: np.ndarray,
    clients: int,
    concentration: float,
    samples_per_client: int | None,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Divide every class by proportions p_k ~ Dir_N(concentration) (FedRL, section 4.1).

    Clients therefore differ in size; `samples_per_client` is their mean if not all data are used.
    A client left without samples is given one from the largest client. Samples keep the data set's
    own order, which matters to training without shuffling.
    """
    total = sum(_sizes(len(labels), clients, samples_per_client))
    used = rng.permutation(len(labels))[:total].astype(np.int64)
    parts: list[list[int]] = [[] for _ in range(clients)]
    for c in np.unique(labels):
        own = used[labels[used] == c]
        shares = _apportion(rng.dirichlet(np.full(clients, concentration)), len(own))
        for part, dealt in zip(parts, np.split(own, np.cumsum(shares)[:-1]), strict=True):
            part.extend(dealt)
    for part in parts:
        if not part:
            part.append(max(parts, key=len).pop())
    return [np.sort(np.array(part, np.int64)) for part in parts]


def sorted_by_class(parts: Sequence[np.ndarray], labels: np.ndarray) -> list[np.ndarray]:
    """Reorder every client's samples class by class, keeping the order within a class."""
    return [part[np.argsort(labels[part], kind="stable")] for part in parts]


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


def _take(proportions: np.ndarray, left: np.ndarray, size: int) -> np.ndarray:
    """Return how many samples of each class to take: by the proportions, while classes last."""
    taken = np.zeros_like(left)
    while (missing := size - int(taken.sum())) > 0:
        room = left - taken
        weights = np.where(room > 0, proportions, 0.0)
        if not weights.sum() > 0:
            weights = room.astype(float)
        taken += np.minimum(_apportion(weights, missing), room)
    return taken


def _apportion(weights: np.ndarray, total: int) -> np.ndarray:
    """Split the total into whole numbers in these proportions, by largest remainders."""
    exact = weights / weights.sum() * total
    whole: np.ndarray = np.floor(exact).astype(np.int64)
    short = total - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
    return whole
