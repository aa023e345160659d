"""The run's transient directory on /dev/shm, and the sweeping of those whose runner is dead."""

import fcntl
import os
import shutil
import signal
from pathlib import Path

import psutil

from scenarios.errors import BadInput

_SHARED_MEMORY = Path("/dev/shm")
_PREFIX = "metronome"


class RunSpool:
    """A directory named after its run; its lock lives as long as the runner does."""

    def __init__(self, run: str) -> None:
        name = f"{_PREFIX}-{os.getuid()}-{run.replace(' ', '_')}-{os.getpid()}"
        self.path = _SHARED_MEMORY / name
        try:
            self.path.mkdir(mode=0o700)
            self._lock = open(self.path / "lock", "w")
        except OSError as error:
            raise BadInput(
                f"{_SHARED_MEMORY}: cannot be written to ({error.strerror}); "
                "free some room there or ask for permission"
            ) from None
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        for folder in ("jobs", "results", "evaluate"):
            (self.path / folder).mkdir()

    def remember_session(self, leader: int) -> None:
        """Note a session that must end with this run, should the runner not live to end it."""
        with (self.path / "sessions").open("a") as file:
            file.write(f"{leader} {psutil.Process(leader).create_time()}\n")

    def remove(self) -> None:
        """End remembered sessions and delete the directory."""
        _end_sessions(self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> list[str]:
    """Clear away what runners that were killed left behind; returns the directories' names."""
    swept = []
    for path in _SHARED_MEMORY.glob(f"{_PREFIX}-{os.getuid()}-*"):
        try:
            with open(path / "lock", "r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_sessions(path)
                shutil.rmtree(path, ignore_errors=True)
                swept.append(path.name)
        except OSError:
            continue  # its runner is alive, or it is just being made
    return swept


def _end_sessions(path: Path) -> None:
    """Kill every process of the remembered sessions, by id; a reused id is left alone."""
    sessions = path / "sessions"
    if not sessions.exists():
        return
    leaders = dict(line.split() for line in sessions.read_text().splitlines())
    members = []
    for process in psutil.process_iter():
        try:
            began = leaders.get(str(os.getsid(process.pid)))
            if began is not None and process.create_time() >= float(began) - 1:
                process.send_signal(signal.SIGKILL)
                members.append(process)
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue
    psutil.wait_procs(members, timeout=5)
