"""Read data.csv: how many samples of each class every client has."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contracts.tables import HOLDING_COLUMNS
from reports.records.record_files import whole_table

_MOST_CLASSES = 100_000  # more than any data set has


@dataclass(frozen=True)
class Holdings:
    """The number of samples by client (rows) and class (columns, counted from 0)."""

    clients: tuple[str, ...]
    counts: np.ndarray


def read_holdings(path: Path) -> Holdings | None:
    """Return None if there is no such file, or no client has a sample."""
    if not path.exists():
        return None
    rows = whole_table(path, HOLDING_COLUMNS, _row)
    if not rows:
        return None
    places = {client: place for place, client in enumerate(dict.fromkeys(row[0] for row in rows))}
    counts = np.zeros((len(places), 1 + max(number for _, number, _ in rows)), int)
    for client, number, samples in rows:
        counts[places[client], number] = samples
    return Holdings(tuple(places), counts)


def _row(fields: Mapping[str, str]) -> tuple[str, int, int]:
    number, samples = int(fields["class"]), int(fields["samples"])
    if number not in range(_MOST_CLASSES) or samples not in range(2**31):
        raise ValueError("no class or no number of samples")
    return fields["client"], number, samples
