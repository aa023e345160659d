"""Forks a process that does one thing and never returns into the code that forked it."""

import os
import sys
import traceback
from collections.abc import Callable


def fork_to(work: Callable[[], None]) -> int:
    """Fork a child that does this work and ends; return its id. An error is printed: code 1."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid
