"""Partition `labels-per-client`: every client has equally many samples of each of C labels.

FSL, section V-A: n_i = n / N samples of C label classes, n_i / C of each, without replacement.
"""

import numpy as np

from contracts.errors import BadInput


def deal(
    labels: np.ndarray,
    clients: int,
    chosen: int,
    samples_per_client: int | None,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return for every client the indices of its samples, of `chosen` labels; no sample twice.

    Without `samples_per_client`, all samples of a label are divided among the clients that have
    the label. Sizes are then only roughly equal where N C is not a multiple of the number of
    labels, as in the paper.
    """
    classes = np.unique(labels)
    size = samples_per_client or len(labels) // clients
    if chosen > len(classes):
        raise BadInput(
            f"task.labels_per_client: {chosen} labels of {len(classes)};"
            f" ask for at most {len(classes)}"
        )
    if size < chosen:
        raise BadInput(
            f"task.labels_per_client: {chosen} labels for clients with {size} samples;"
            " ask for fewer labels, or for more samples"
        )
    stock = [rng.permutation(np.flatnonzero(labels == c)).astype(np.int64) for c in classes]
    there = np.array([len(indices) for indices in stock])
    choice = _choose(there, clients, chosen, samples_per_client or len(labels) / clients, rng)
    if samples_per_client is None:
        numbers = _shared_out(there, choice)
    else:
        numbers = _equal(there, choice, samples_per_client)
    _check(numbers, there, choice, classes)
    ends = np.cumsum(numbers, axis=0)
    return [
        rng.permutation(
            np.concatenate(
                [
                    indices[end - number : end]
                    for indices, end, number in zip(
                        stock, ends[client], numbers[client], strict=True
                    )
                ]
            )
        )
        for client in range(clients)
    ]


def _choose(
    there: np.ndarray, clients: int, chosen: int, size: float, rng: np.random.Generator
) -> np.ndarray:
    """Choose labels, one row per client: those with most samples left, ties at random."""
    each = size / chosen
    # A client takes a label at most once, so a label cannot have more takers than clients.
    left = np.minimum(there / each, clients)
    rows = []
    for _ in range(clients):
        by_stock = np.lexsort((rng.random(len(left)), -left.round(9)))
        rows.append(by_stock[:chosen])
        left[rows[-1]] -= 1
    return np.array(rows)


def _equal(there: np.ndarray, choice: np.ndarray, size: int) -> np.ndarray:
    """Give each client n_i / C samples per label, and the remainder where most samples are left."""
    clients, chosen = choice.shape
    numbers = np.zeros((clients, len(there)), np.int64)
    left = there.copy()
    for row, labels in zip(numbers, choice, strict=True):
        row[labels] = size // chosen
        most_left = labels[np.argsort(-left[labels], kind="stable")]
        row[most_left[: size % chosen]] += 1
        left -= row
    return numbers


def _shared_out(there: np.ndarray, choice: np.ndarray) -> np.ndarray:
    """Divide each label equally among its clients; the remainder goes to those with least."""
    numbers = np.zeros((len(choice), len(there)), np.int64)
    for label, count in enumerate(there):
        takers = np.flatnonzero((choice == label).any(axis=1))
        if len(takers) == 0:
            continue
        numbers[takers, label] = count // len(takers)
        poorest = takers[np.argsort(numbers[takers].sum(axis=1), kind="stable")]
        numbers[poorest[: count % len(takers)], label] += 1
    return numbers


def _check(numbers: np.ndarray, there: np.ndarray, choice: np.ndarray, classes: np.ndarray) -> None:
    needed = np.maximum(numbers.sum(axis=0), np.bincount(choice.flatten(), minlength=len(there)))
    for label, need, count in zip(classes, needed, there, strict=True):
        if need > count:
            raise BadInput(
                f"task.labels_per_client: of label {label} the clients need {need} samples and"
                f" there are {count}; ask for fewer clients or samples, or leave"
                " task.samples_per_client out to share out what there is"
            )
