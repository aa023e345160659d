"""Creates, locks and removes the spool of a run, and clears away abandoned ones.

A spool is in the first place that has room for what the run may put there (netem/places.py).
It is abandoned when its runner was killed: the lock that the runner held is then free.
contracts/spool.py says which files a spool has.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import IO

import psutil

from contracts.errors import BadInput
from contracts.plan import Plan
from contracts.spool import ROUNDS_BEHIND, Spool
from netem import places

_PREFIX = "metronome"
_LONGEST_NAME = 60
_LONGEST_SOCKET = 107  # characters of the path of a socket, which the guest puts into the spool
_SECRET_BYTES = 32
_ROOM = 8 << 20  # for what every run puts there


class LockedSpool(Spool):
    """The spool of a run that this process runs, which holds its lock for as long as it lives."""

    def __init__(self, run: str, room: int = _ROOM) -> None:
        """Make it in the first place that has `room` bytes."""
        place = places.choose(room, "the spool may need").path
        super().__init__(_named(place, re.sub(r"[^A-Za-z0-9._-]", "_", run)))
        try:
            self._held = _make_locked(self)
            self.create()
        except FileExistsError:
            raise BadInput(
                f"{self.root}: is there already, and not this run's: somebody has taken its name; "
                "remove it, or start the run again, under another process id"
            ) from None
        except OSError as error:
            raise BadInput(
                f"{place}: cannot be written to ({error.strerror}); "
                "free some room there or ask for permission"
            ) from None

    def leave_secret(self) -> None:
        """Leave random bytes for the launcher that nobody else can read."""
        with os.fdopen(
            os.open(self.secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
        ) as f:
            f.write(os.urandom(_SECRET_BYTES))

    def remember_session(self, leader: int) -> None:
        """Note a session that has to end with this run even if the runner is killed."""
        remember_session(self, leader)

    def remove(self) -> None:
        """End the remembered sessions and delete the directory."""
        _end_sessions(self)
        shutil.rmtree(self.root, ignore_errors=True)
        self._held.close()


def room_needed(plan: Plan) -> int:
    """Return how many bytes this plan may have in its spool at once.

    Every node may have a task waiting and a result, or a checkpoint. Of every server at the top
    some rounds' models may wait for the evaluator, and as many for those to average them with.
    """
    held = max(plan.model_bytes, plan.update_bytes) + plan.supply_bytes
    tops = len(plan.tops)
    waiting = min(plan.rounds + 1, ROUNDS_BEHIND) * (tops if tops == 1 else 2 * tops)
    return _ROOM + 2 * len(plan.nodes) * held + waiting * plan.model_bytes


def _named(place: Path, run: str) -> Path:
    """Return the path of a spool, with as much of the run's name as fits."""

    def path(name: str) -> Path:
        return place / f"{_PREFIX}-{os.getuid()}-{name}-{os.getpid()}"

    rest = _LONGEST_SOCKET - len(str(Spool(path("")).guest_console))
    return path(run[: min(rest, _LONGEST_NAME)])


def remember_session(spool: Spool, leader: int) -> None:
    """Note a session in a spool, by its leader; whoever clears the spool away ends it."""
    with spool.sessions.open("a") as file:
        file.write(f"{leader} {_started(leader)}\n")


def clear_abandoned() -> list[str]:
    """Clear away the spools and sessions of runners that were killed; return the spools' names."""
    cleared = []
    pattern = f"{_PREFIX}-{os.getuid()}-*"
    for path in [path for place in places.candidates() for path in place.glob(pattern)]:
        try:
            if path.lstat().st_uid != os.getuid():
                continue  # anybody may write to /dev/shm and /tmp, and this is not ours
            spool = Spool(path)
            with spool.lock.open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_sessions(spool)
                shutil.rmtree(path, ignore_errors=True)
                cleared.append(path.name)
        except OSError:
            continue  # its runner is alive, or another process was quicker to clear it
    return cleared


def _make_locked(spool: Spool) -> IO[str]:
    """Make the directory and lock it; again if `clear_abandoned` removed it in between."""
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
    """Kill every process of the remembered sessions, by id, but none whose id was reused.

    The kernel does not reuse a leader's id while its session has a member. So if that process is
    alive but started at another time, it leads another session; if it is gone, processes with its
    session id are those we look for.
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
    deadline = time.monotonic() + 60  # a slow host takes its time over their memory
    while not all(map(_has_ended, members)) and time.monotonic() < deadline:
        time.sleep(0.01)


def _has_ended(process: psutil.Process) -> bool:
    """Whether a process runs no longer, even if nobody has reaped it: some containers never do."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _started(pid: int) -> str:
    """Return when a process started, in clock ticks since boot; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""
