"""Reader for the IDX files of the MNIST family, plain or gzipped."""

import gzip
from pathlib import Path

import numpy as np


def read_idx(path: Path) -> np.ndarray:
    """Read unsigned bytes in the shape given by the header; raise ValueError for other files."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        content = file.read()
    # Header: two zero bytes, the type (8 is unsigned byte), the rank, then one big-endian
    # 32-bit size per dimension.
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is not an IDX file of unsigned bytes")
    rank = content[3]
    start = 4 + 4 * rank
    shape = tuple(int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank))
    if len(content) != start + int(np.prod(shape, dtype=np.int64)):
        raise ValueError(f"{path} is truncated or too long for its shape {shape}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
