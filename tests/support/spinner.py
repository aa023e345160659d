"""Runs in a guest instead of the launcher: a node that reads the clock until it moves: never."""

import os
import time

from netem import syscalls


def main(_directories: list[str]) -> None:
    child = os.fork()
    if child == 0:
        syscalls.set_process_name("client7")
        start = time.monotonic()
        while time.monotonic() < start + 1000:
            pass
    os.waitpid(child, 0)
