"""A run's spool on /dev/shm: created, locked, and swept away when its runner is dead.

What lies where in it is contracts/spool.py.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
from pathlib import Path
from typing import IO

import psutil

from contracts.errors import BadInput
from contracts.spool import Spool

_SHARED_MEMORY = Path("/dev/shm")
_PREFIX = "metronome"
_LONGEST_NAME = 60  # the guest puts sockets below, whose paths end at 108 characters


class LockedSpool(Spool):
    """The spool of a run that this process runs; its lock is held as long as the process lives."""

    def __init__(self, run: str) -> None:
        readable = re.sub(r"[^A-Za-z0-9._-]", "_", run)[:_LONGEST_NAME]
        super().__init__(_SHARED_MEMORY / f"{_PREFIX}-{os.getuid()}-{readable}-{os.getpid()}")
        try:
            self._held = _make_locked(self)
            self.create()
        except OSError as error:
            raise BadInput(
                f"{_SHARED_MEMORY}: cannot be written to ({error.strerror}); "
                "free some room there or ask for permission"
            ) from None

    def remember_session(self, leader: int) -> None:
        """Note a session that must end with this run, should the runner not live to end it."""
        remember_session(self, leader)

    def remove(self) -> None:
        """End remembered sessions and delete the directory."""
        _end_sessions(self)
        shutil.rmtree(self.root, ignore_errors=True)
        self._held.close()


def remember_session(spool: Spool, leader: int) -> None:
    """Note a session in a spool, whose sweeping will end it."""
    with spool.sessions.open("a") as file:
        file.write(f"{leader} {_started(leader)}\n")


def sweep() -> list[str]:
    """Clear away what runners that were killed left behind; returns the directories' names."""
    swept = []
    for path in _SHARED_MEMORY.glob(f"{_PREFIX}-{os.getuid()}-*"):
        try:
            if path.lstat().st_uid != os.getuid():
                continue  # anybody may write to /dev/shm: not what we left behind
            spool = Spool(path)
            with spool.lock.open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_sessions(spool)
                shutil.rmtree(path, ignore_errors=True)
                swept.append(path.name)
        except OSError:
            continue  # its runner is alive, or another sweep was quicker
    return swept


def _make_locked(spool: Spool) -> IO[str]:
    """Make the directory and hold its lock, also when a sweep takes it for an old one meanwhile."""
    while True:
        spool.root.mkdir(mode=0o700)
        try:
            lock = spool.lock.open("a")
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if spool.lock.exists():
            return lock
        lock.close()


def _end_sessions(spool: Spool) -> None:
    """Kill every process of the remembered sessions, by id; one whose id was reused is left alone.

    The kernel gives a leader's id to nobody else while its session has a member: so a leader that
    is alive but started at another time leads another session, and one that is gone has left the
    members we look for.
    """
    if not spool.sessions.exists():
        return
    lines = [line.split(" ") for line in spool.sessions.read_text().splitlines()]
    ours = {int(leader) for leader, began in lines if _started(int(leader)) in ("", began)}
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) in ours:
                process.send_signal(signal.SIGKILL)
                members.append(process)
    psutil.wait_procs(members, timeout=5)


def _started(pid: int) -> str:
    """When a process started, in clock ticks since the machine did; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""
