"""What worker and evaluator processes share: their options, how they wait, and when they end."""

import argparse
import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
SHORTEST_PAUSE = 0.001
LONGEST_PAUSE = 0.005


def argument_parser(description: str, nice: int) -> argparse.ArgumentParser:
    """Return a parser with the options that every host process takes."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--run", type=Path, required=True, help="the run's directory")
    options.add_argument("--spool", type=Path, required=True, help="the run's spool directory")
    options.add_argument("--nice", type=int, default=nice, help="added to the nice value")
    options.add_argument("--parent", type=int, default=os.getppid(), help="process to end with")
    return options


class ParentProcess:
    """The process that started this one, without which this one must not go on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # The kernel kills this process when its parent ends, even in the middle of a job. It is
        # the parent's thread that counts: start host processes from a thread that outlives them.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def gone(self) -> bool:
        """Return whether the parent has ended, perhaps before the kernel was asked to watch it."""
        return os.getppid() != self._pid


def run_until_stopped(
    stopped: Callable[[], bool], step: Callable[[], bool], parent: ParentProcess
) -> None:
    """Repeat `step` until told to stop, pausing briefly whenever it finds nothing to do.

    `stopped` is asked before each step, so that all work that came before the stop is still done.
    """
    pause = SHORTEST_PAUSE
    while not parent.gone():
        stopping = stopped()
        if step():
            pause = SHORTEST_PAUSE
        elif stopping:
            return
        else:
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)
