"""STL-10 as the server's source of CIFAR-10's classes, for FSLsyn (FSL, section V-C).

Nine of its classes are also CIFAR-10's: its monkeys are left out, and it has no frogs. Images are
reduced from 96 x 96 to 32 x 32 pixels by averaging blocks of 3 x 3.
"""

from pathlib import Path

import numpy as np

from contracts.errors import BadInput
from learning.data.datasets import data_root

# STL-10's label -> CIFAR-10's. STL-10 counts from 1, in the order airplane, bird, car, cat, deer,
# dog, horse, (monkey), ship, truck.
CIFAR_LABELS = {1: 0, 2: 2, 3: 1, 4: 3, 5: 4, 6: 5, 7: 7, 9: 8, 10: 9}

_FOLDER = "stl10_binary"  # as torchvision lays it out
_SIDE, _BLOCK = 96, 3


def pick(
    data_dir: Path | None, classes: int, per_class: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw `per_class` images of each common class below `classes`, with CIFAR-10's labels."""
    images, labels = _read(data_dir)
    chosen, named = [], []
    for own, theirs in CIFAR_LABELS.items():
        if theirs >= classes:
            continue
        there = np.flatnonzero(labels == own)
        if per_class > len(there):
            raise BadInput(
                f"server_data.per_class: {per_class}, and STL-10 has {len(there)} images of a"
                f" class; ask for at most {len(there)}"
            )
        chosen.append(rng.choice(there, per_class, replace=False))
        named += [theirs] * per_class
    # The file stores each channel column by column.
    large = images[np.concatenate(chosen)].swapaxes(2, 3)
    return shrink(large), np.array(named, np.int64)


def shrink(images: np.ndarray) -> np.ndarray:
    """Replace every block of 3 x 3 pixels by its mean."""
    count, channels, height, width = images.shape
    blocks = images.reshape(count, channels, height // _BLOCK, _BLOCK, width // _BLOCK, _BLOCK)
    means: np.ndarray = np.rint(blocks.mean(axis=(3, 5)))
    return means.astype(np.uint8)


def _read(data_dir: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the training images, mapped from the file, and their labels."""
    root = data_root(data_dir)
    files = [(root or Path()) / _FOLDER / name for name in ("train_X.bin", "train_y.bin")]
    if root is None or not all(file.is_file() for file in files):
        raise BadInput(
            f"server_data.source: STL-10 was not found; give --data DIR or METRONOME_DATA a"
            f" directory that holds {_FOLDER}/train_X.bin and train_y.bin"
        )
    pixels, labels = (np.memmap(file, np.uint8, "r") for file in files)
    if len(pixels) != len(labels) * 3 * _SIDE * _SIDE:
        raise BadInput(
            f"server_data.source: {files[0]} has {len(pixels)} bytes, which is not"
            f" {len(labels)} images of 3x{_SIDE}x{_SIDE}; lay STL-10's files out anew"
        )
    return pixels.reshape(-1, 3, _SIDE, _SIDE), labels
