"""Runs in a guest instead of the launcher: its first process sleeps to odd moments.

It sleeps alone, and among others that wake often.
It also tells how long system calls take, in which order processes run that are woken at the same
instant, and what the guest's dates and random numbers are.
"""

import contextlib
import ctypes
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from netem import syscalls

SLEEPS = 400
SLEEPERS = 6
_FORKED = (3, 0, 5, 1, 4, 2)  # in this order, which must not matter
_MONOTONIC = _ABSOLUTE = 1


class _Moment(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def main(directories: list[str]) -> None:
    syscalls.disable_timer_slack()
    time.sleep(0.1)  # the guest's timers become exact with its first tick
    calls = _call_times()
    late = {"alone": _lateness()}
    others = [_other(microseconds) for microseconds in (73, 131, 1009)]
    late["among others"] = _lateness()
    for other in others:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    ran = _order_of_running()
    found = {
        "late": late,
        "calls": calls,
        "ran": ran,
        "date": time.time_ns(),
        "random": os.urandom(16).hex(),
    }
    Path(directories[0], "found.json").write_text(json.dumps(found))


def _call_times() -> dict[str, int]:
    """Return by how many nanoseconds the clock moves during a thousand calls of each kind."""
    empty, _ = os.pipe()
    os.set_blocking(empty, False)

    def look_for_nothing() -> None:
        with contextlib.suppress(FileNotFoundError):
            os.stat("/no/such/file")

    def read_nothing() -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(empty, 1)

    kinds: dict[str, Callable[[], object]] = {
        "one that succeeds": os.getppid,
        "a file that is not there": look_for_nothing,
        "a pipe that is empty": read_nothing,
        "yielding": os.sched_yield,
    }
    times = {}
    for name, call in kinds.items():
        began = time.monotonic_ns()
        for _ in range(1000):
            call()
        times[name] = time.monotonic_ns() - began
    return times


def _lateness() -> list[int]:
    """Return by how many nanoseconds each sleep ended late."""
    late, libc = [], ctypes.CDLL(None)
    for number in range(SLEEPS):
        moment = time.monotonic_ns() + 1_000_000 + 7919 * number
        _sleep_until(moment, libc)
        late.append(time.monotonic_ns() - moment)
    return late


def _sleep_until(moment: int, libc: ctypes.CDLL) -> None:
    until = _Moment(moment // 10**9, moment % 10**9)
    assert libc.clock_nanosleep(_MONOTONIC, _ABSOLUTE, ctypes.byref(until), None) == 0


def _order_of_running() -> list[int]:
    """Return in which order processes ran that went to sleep as 0, 1, 2, ... to one instant."""
    told, said = [os.pipe() for _ in range(SLEEPERS)], os.pipe()
    moment, libc = time.monotonic_ns() + 10**9, ctypes.CDLL(None)
    for number in _FORKED:
        if os.fork() == 0:
            syscalls.run_in_order_of_waking()
            os.read(told[number][0], 1)
            _sleep_until(moment, libc)
            os.write(said[1], bytes([number]))
            os._exit(0)
    for _, line in told:
        time.sleep(0.001)
        os.write(line, b".")
    for _ in range(SLEEPERS):
        os.wait()
    return list(os.read(said[0], SLEEPERS))


def _other(microseconds: int) -> int:
    """Fork a process that does nothing but sleep for so long, again and again."""
    if child := os.fork():
        return child
    while True:
        time.sleep(microseconds / 1e6)
