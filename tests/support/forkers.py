"""What tests.emulation.test_forks runs in the guest: children that are forked one by one."""

import json
import mmap
import os
import resource
import time
from pathlib import Path

from nodes.launch.rehearsal import rehearse

PAGES = 1000


def main(directories: list[str]) -> None:
    """Fork alike children, then rehearse; write down what was found."""
    memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    _write(memory, b"p")
    children = [_child(memory) for _ in range(3)]
    before = time.monotonic_ns()
    rehearse(encrypted=False)
    found = {
        "kernel": os.uname().release,
        "children": children,
        "parent_has": memory[:: mmap.PAGESIZE].decode(),
        "rehearsal_nanoseconds": time.monotonic_ns() - before,
    }
    Path(directories[0], "found.json").write_text(json.dumps(found))


def _write(memory: mmap.mmap, byte: bytes) -> None:
    for page in range(PAGES):
        memory[page * mmap.PAGESIZE] = byte[0]


def _child(memory: mmap.mmap) -> tuple[str, int]:
    """Fork a child that writes to every page: what it found there, and its page faults."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        had = memory[:: mmap.PAGESIZE].decode()
        _write(memory, b"c")
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        os.write(writing, json.dumps((had, faults)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as line:
        said: tuple[str, int] = json.load(line)
    os.waitpid(pid, 0)
    return said
