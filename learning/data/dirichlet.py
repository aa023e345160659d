"""Partitions whose class proportions are drawn from a symmetric Dirichlet distribution."""

import numpy as np

from contracts.errors import BadInput
from learning.data.deal import Deal


def dirichlet(deal: Deal) -> list[np.ndarray]:
    """Draw every client's class proportions from a symmetric Dirichlet distribution.

    When a class has run out, a client takes more of its other classes, and finally of whatever is
    left, so that all clients get their full number of samples.
    """
    sizes, labels, rng = deal.sizes, deal.labels, deal.rng
    concentration = _concentration(deal, "dirichlet")
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


def dirichlet_by_class(deal: Deal) -> list[np.ndarray]:
    """Divide every class by proportions p_k ~ Dir_N(concentration) (FedRL, section 4.1).

    Clients therefore differ in size; `samples_per_client` is their mean if not all data are used.
    A client left without samples is given one from the largest client. Samples keep the data set's
    own order, which matters to training without shuffling.
    """
    labels, clients, rng = deal.labels, deal.clients, deal.rng
    concentration = _concentration(deal, "dirichlet-by-class")
    total = sum(deal.sizes)
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


def _concentration(deal: Deal, kind: str) -> float:
    if deal.concentration is None:
        raise BadInput(f"task.partition: {kind} needs a concentration above 0, for example 0.5")
    if not deal.concentration > 0:
        raise BadInput(
            f"task.partition: the concentration must be above 0, not {deal.concentration};"
            " small values give each client few classes, large ones approach iid"
        )
    return deal.concentration


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
