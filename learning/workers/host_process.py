"""What the host's worker and evaluator have in common: how they wait, and when they end."""

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
    """The options every host process takes."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--run", type=Path, required=True, help="the run's directory")
    options.add_argument("--spool", type=Path, required=True, help="the run's spool directory")
    options.add_argument("--nice", type=int, default=nice, help="added to the nice value")
    options.add_argument("--parent", type=int, default=os.getppid(), help="process to end with")
    return options


class ParentProcess:
    """The process that started this one, and without which it must not go on."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # The kernel ends us with our parent, also in the middle of a job. (It counts the parent's
        # thread: start host processes from a thread that lives as long as they shall.)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    def gone(self) -> bool:
        """Whether we now belong to somebody else, perhaps since before the line above."""
        return os.getppid() != self._pid


def run_until_stopped(
    stopped: Callable[[], bool], step: Callable[[], bool], parent: ParentProcess
) -> None:
    """Repeat `step` while it finds something to do, wait a little when not, until told to stop.

    `stopped` is asked before the step, so that a step can still do all that came before the stop.
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
