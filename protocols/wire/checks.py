"""The two checks a tensor's bytes get: were they mixed up, and are they numbers."""

import math

import numpy as np
import xxhash

WHOLE_BYTES = 256 * 1024
BLOCKS = 16
BLOCK_BYTES = 4096


def checksum(frame: memoryview) -> int:
    """Hash a frame of up to 256 KiB whole, a larger one by evenly spaced blocks.

    It is there to catch buffers mixed up, cut short or used again too early, on either side, and
    those spoil whole stretches; single bits are guarded by TCP's and the link's own checksums. A
    full pass would double the cost of receiving, for the finite check already is one.
    """
    if frame.nbytes <= WHOLE_BYTES:
        return xxhash.xxh3_64_intdigest(frame)
    digest = xxhash.xxh3_64()
    last = frame.nbytes - BLOCK_BYTES
    for block in range(BLOCKS):
        start = last * block // (BLOCKS - 1)
        digest.update(frame[start : start + BLOCK_BYTES])
    return digest.intdigest()


def all_finite(flat: np.ndarray) -> bool:
    """Whether a flat array of floats has neither NaN nor infinity. Call under np.errstate.

    Whatever NaN and infinity are multiplied with or added to, the result is not finite either; so
    the product of one half with the other tells, in one pass without a temporary (and faster than a
    sum: memory is read in two places at once). It may overflow for large finite values; then each
    value is looked at.
    """
    if flat.itemsize > 2:  # float16 overflows at once
        half = flat.size // 2
        odd = flat[-1] if flat.size % 2 else 0.0
        if math.isfinite(flat[:half].dot(flat[half : 2 * half]) + odd):
            return True
    return bool(np.isfinite(flat).all())
