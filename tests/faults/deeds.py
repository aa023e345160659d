"""Does what a disturbance says, and takes it back, so that the run can be gone on with."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.faults.catalogue import KILL, PAUSE, STOP, Disturbance
from tests.faults.parts import Parts
from tests.faults.stage import Stage

_PAUSE_SECONDS = 2.0
_SHM = Path("/dev/shm")
_FILLER = "what-somebody-else-wrote"

TakeBack = Callable[[], None]


def do(case: Disturbance, stage: Stage, parts: Parts) -> TakeBack | None:
    """Disturb the run; return what takes it back, or None if there was nothing to disturb."""
    if case.what in (KILL, STOP, PAUSE):
        processes = parts.find(case.target)
        return _signal(case.what, processes) if processes else None
    if case.what == "cutting":
        clients = parts.find("a client")
        return _cut(clients[0]) if clients else None
    if case.what == "filling":
        return _fill(stage.outside(_place(case, stage)) / _FILLER)
    if case.target == "the spool":
        spool = parts.spool()
        return _remove(spool.root) if spool is not None else None
    run_dir = stage.outside(stage.run_dir)
    if case.what == "removing":
        return _remove(run_dir)
    elsewhere = run_dir.with_name("elsewhere")
    run_dir.rename(elsewhere)
    return lambda: _name_back(elsewhere, run_dir)


def _place(case: Disturbance, stage: Stage) -> Path:
    return _SHM if case.target == "/dev/shm" else stage.disk


def _signal(what: str, processes: list[psutil.Process]) -> TakeBack:
    first = signal.SIGKILL if what == KILL else signal.SIGSTOP
    for process in processes:
        _send(process, first)
    if what == PAUSE:
        time.sleep(_PAUSE_SECONDS)
        for process in processes:
            _send(process, signal.SIGCONT)
    return _nothing


def _send(process: psutil.Process, number: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):  # it may have ended just now
        process.send_signal(number)


def _cut(client: psutil.Process) -> TakeBack:
    enter = ["nsenter", f"--target={client.pid}", "--net", "--"]
    listed = subprocess.run(
        [*enter, "ip", "-brief", "link"], check=True, capture_output=True, text=True
    ).stdout
    names = [line.split()[0].partition("@")[0] for line in listed.splitlines()]
    for name in names:
        if name != "lo":
            subprocess.run([*enter, "ip", "link", "set", name, "down"], check=True)
    return _nothing


def _fill(path: Path) -> TakeBack:
    """Write until there is no room left, the last pages one by one."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        for size in (16 << 20, 1 << 20, 4096):
            while _wrote(file.fileno(), bytes(size)):
                pass
    return lambda: path.unlink(missing_ok=True)


def _wrote(descriptor: int, data: bytes) -> bool:
    try:
        return os.write(descriptor, data) == len(data)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return False
        raise


def _remove(path: Path) -> TakeBack:
    for _ in range(20):  # others write there meanwhile
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            break
    return _nothing


def _name_back(elsewhere: Path, run_dir: Path) -> None:
    if elsewhere.exists() and not run_dir.exists():
        elsewhere.rename(run_dir)


def _nothing() -> None:
    """There is nothing to take back."""
