"""Runs in a guest instead of the launcher: a process whose pages lie nowhere side by side.

To the host each such page is a mapping of its own, and it allows a process only so many.
"""

import mmap
import os
import struct
from collections.abc import Callable
from pathlib import Path

PAGES = 80_000  # more than the 65530 mappings that Linux allows by default


def main(directories: list[str]) -> None:
    """Write how the processes ended; each checks all of its memory."""
    ended = os.waitstatus_to_exitcode(os.waitpid(_forked(_fill_and_check), 0)[1])
    Path(directories[0], "ended.txt").write_text(str(ended))


def _fill_and_check() -> None:
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for first in (0, 1):  # what is touched in turn lies side by side in the guest's memory
        for page in range(first, PAGES, 2):
            struct.pack_into("<I", memory, page * mmap.PAGESIZE, page)
    child = _forked(lambda: _check(memory))
    _check(memory)
    assert os.waitpid(child, 0)[1] == 0


def _check(memory: mmap.mmap) -> None:
    for page in range(PAGES):
        assert struct.unpack_from("<I", memory, page * mmap.PAGESIZE) == (page,)
        memory[page * mmap.PAGESIZE] = 0


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
        os._exit(0)
    return child
