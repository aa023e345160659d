"""An inside with a node that looks at the clock until it has moved, which it never does."""

import os
import time

from netem import syscalls


def main(_directories: list[str]) -> None:
    child = os.fork()
    if child == 0:
        syscalls.name_process("client7")
        start = time.monotonic()
        while time.monotonic() < start + 1000:
            pass
    os.waitpid(child, 0)
