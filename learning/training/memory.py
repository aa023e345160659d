"""Keeps freed memory in the process, since training reuses the same blocks at every step."""

import ctypes

# From glibc's malloc.h: the option numbers of mallopt.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3


def keep_freed_memory() -> None:
    """Stop glibc from returning memory to the kernel between steps.

    Each return costs dozens of page faults in the next step. Does nothing with other C libraries.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_MMAP_THRESHOLD, 2**30)
        mallopt(_TOP_PAD, 2**26)
