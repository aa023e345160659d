"""Runs in a guest instead of the launcher: tells whether processes keep what the kernel keeps back.

Floating point registers stay in a stub until somebody else needs their place, and clocks are read
without entering the kernel.
"""

import ctypes
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

CLOCKS = (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, time.CLOCK_BOOTTIME)
ROUNDINGS = (0x000, 0x400, 0x800, 0xC00)  # to nearest, down, up, towards zero
TURNS = 50
_CLOCK_GETTIME = 228
_LIBM, _LIBC = ctypes.CDLL("libm.so.6"), ctypes.CDLL(None)


class _Moment(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def main(directories: list[str]) -> None:
    found = {
        "clocks": _clock_differences(),
        "threads": _kept_by_threads(),
        "child": _kept_over_fork(),
        "signal": _kept_over_signal(),
        "faults": _sum_over_faults(),
    }
    Path(directories[0], "found.json").write_text(json.dumps(found))


def _clock_differences() -> list[int]:
    """Return how far the kernel's own answers are off, after sleeps and when the date was set."""
    off = []
    for turn in range(TURNS):
        time.sleep(0.000_37 * turn)
        off += [_asked(clock) - time.clock_gettime_ns(clock) for clock in CLOCKS]
    time.clock_settime(time.CLOCK_REALTIME, 2_000_000_000.0)
    assert round(time.time(), 3) == 2_000_000_000
    return [*off, _asked(time.CLOCK_REALTIME) - time.time_ns()]


def _asked(clock: int) -> int:
    moment = _Moment()
    assert _LIBC.syscall(_CLOCK_GETTIME, clock, ctypes.byref(moment)) == 0
    return int(moment.seconds * 10**9 + moment.nanoseconds)


def _kept_by_threads() -> list[bool]:
    """Have each thread of one process round in its own way, while they take turns."""
    kept = []

    def keep(rounding: int) -> None:
        _LIBM.fesetround(rounding)
        for turn in range(TURNS):
            time.sleep(0.001 + 0.000_1 * (turn % 3))
            kept.append(_LIBM.fegetround() == rounding)

    threads = [threading.Thread(target=keep, args=(rounding,)) for rounding in ROUNDINGS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return kept


def _kept_over_fork() -> list[int]:
    """Return how a child rounds, and how its parent does afterwards, who rounded up before."""
    _LIBM.fesetround(0x800)
    child = os.fork()
    if child == 0:
        os._exit(_LIBM.fegetround() >> 8)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    modes = [code << 8, _LIBM.fegetround()]
    _LIBM.fesetround(0)
    return modes


def _kept_over_signal() -> list[int]:
    """Return how a process rounds that was interrupted by a signal when it rounded down."""
    handled: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, _: handled.append(number))
    _LIBM.fesetround(0x400)
    os.kill(os.getpid(), signal.SIGUSR1)
    mode = _LIBM.fegetround()
    _LIBM.fesetround(0)
    return [mode, len(handled)]


def _sum_over_faults() -> float:
    """Add up memory that is touched for the first time meanwhile, in a copy after a fork."""
    numbers = np.arange(1 << 18, dtype=np.float64)
    reader, writer = os.pipe()
    if os.fork() == 0:
        numbers += 1.0
        os.write(writer, repr(float(numbers.sum())).encode())
        os._exit(0)
    os.wait()
    return float(os.read(reader, 100))
