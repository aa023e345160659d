"""How many samples of each class every client has: data.csv, written before a run."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contracts.run_directory import client_name
from contracts.tables import HOLDING_COLUMNS


def class_counts(labels: np.ndarray, parts: Sequence[np.ndarray], classes: int) -> np.ndarray:
    """Count samples in a table with a row for each client and a column for each class."""
    return np.array([np.bincount(labels[part], minlength=classes) for part in parts])


def write_counts(path: Path, counts: np.ndarray) -> None:
    """Write data.csv, with a line for every class of which a client has samples."""
    rows = ((c, k, counts[c, k]) for c, k in zip(*np.nonzero(counts), strict=True))
    lines = [f"{client_name(client)},{number},{samples}\n" for client, number, samples in rows]
    path.write_text(",".join(HOLDING_COLUMNS) + "\n" + "".join(lines))
