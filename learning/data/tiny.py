"""The generated data set `tiny`, which needs no files and is learnt within seconds."""

import numpy as np

CLASSES = 10
TRAIN, TEST = 2_000, 500
SIDE = 28
_CELLS = 7  # patterns are 7x7, enlarged, so that convolutions find structure in them
_NOISE = 50.0


def generate() -> dict[str, np.ndarray]:
    """Make one random pattern per class, and samples that are their class's pattern plus noise."""
    rng = np.random.default_rng(20261116)
    patterns = rng.uniform(60, 195, (CLASSES, _CELLS, _CELLS)).astype(np.float32)
    enlarged = patterns.repeat(SIDE // _CELLS, axis=1).repeat(SIDE // _CELLS, axis=2)
    arrays: dict[str, np.ndarray] = {}
    for part, count in (("train", TRAIN), ("test", TEST)):
        labels = rng.permutation(np.arange(count) % CLASSES)
        noise = rng.standard_normal((count, SIDE, SIDE), np.float32) * _NOISE
        images = np.clip(enlarged[labels] + noise, 0, 255).astype(np.uint8)
        arrays[f"{part}_images"] = images[:, np.newaxis]
        arrays[f"{part}_labels"] = labels.astype(np.int64)
    return arrays
