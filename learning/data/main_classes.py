"""Partition `main-classes`: every client has samples of two of its home cell's main classes.

A cell's main classes are its equal share of all classes, consecutive (multi-cell, section IV).
"""

from collections.abc import Sequence

import numpy as np

from contracts.errors import BadInput

_CHOSEN = 2  # classes per client


def main_classes(cell: int, cells: int, classes: int) -> list[int]:
    """Return the classes of a cell's own clients: an equal share of all classes, consecutive."""
    each = classes // cells
    return list(range(cell * each, (cell + 1) * each))


def deal(
    labels: np.ndarray,
    homes: Sequence[tuple[int, ...]],
    cells: int,
    samples_per_client: int | None,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return for every client the indices of its samples, equally many of each class.

    No sample is given twice. Without `samples_per_client`, all clients get equally many samples, as
    many as the scarcest class allows.
    """
    classes = int(labels.max()) + 1
    chosen = _choose(classes, homes, cells, rng)
    stock = [
        rng.permutation(np.flatnonzero(labels == label)).astype(np.int64)
        for label in range(classes)
    ]
    most = _most(stock, chosen)
    wanted = _split(samples_per_client or max(most, len(chosen[0])), chosen)
    _check(stock, wanted, most)
    parts = []
    for numbers in wanted:
        drawn = [stock[label][:number] for label, number in numbers.items()]
        for label, number in numbers.items():
            stock[label] = stock[label][number:]
        parts.append(rng.permutation(np.concatenate(drawn)))
    return parts


def _choose(
    classes: int, homes: Sequence[tuple[int, ...]], cells: int, rng: np.random.Generator
) -> list[list[int]]:
    """Choose each client's classes from its own random stream, independently of other clients."""
    if classes % cells:
        fitting = classes - classes % cells
        remedy = f"set task.classes to {fitting}" if fitting else "take fewer cells"
        raise BadInput(
            f"task.partition: {classes} classes do not divide into {cells} cells alike; {remedy}"
        )
    streams = rng.spawn(len(homes))
    main = [main_classes(cell, cells, classes) for cell in range(cells)]
    count = min(_CHOSEN, classes // cells)
    return [
        [int(label) for label in stream.choice(main[home[0]], count, replace=False)]
        for home, stream in zip(homes, streams, strict=True)
    ]


def _most(stock: list[np.ndarray], chosen: list[list[int]]) -> int:
    """Return the largest number of samples that every client can have."""
    takers = np.bincount([label for labels in chosen for label in labels], minlength=len(stock))
    each = min(len(indices) // int(n) for indices, n in zip(stock, takers, strict=True) if n)
    return each * len(chosen[0])


def _split(size: int, chosen: list[list[int]]) -> list[dict[int, int]]:
    """Return how many samples of each class a client takes; the first class gets the odd one."""
    return [
        {
            label: size // len(labels) + (position < size % len(labels))
            for position, label in enumerate(labels)
        }
        for labels in chosen
    ]


def _check(stock: list[np.ndarray], wanted: list[dict[int, int]], most: int) -> None:
    for label, indices in enumerate(stock):
        needed = sum(numbers.get(label, 0) for numbers in wanted)
        if needed > len(indices):
            remedies = [f"at most {most}"] if most else ["a larger data set"]
            if len(wanted) > 1:
                remedies += ["fewer clients", "task.shared_samples = true"]
            raise BadInput(
                f"task.samples_per_client: of class {label} the clients need {needed} samples and"
                f" there are {len(indices)}; ask for {' or '.join(remedies)}"
            )
