"""Where a disturbed run takes place: file systems of its own, and a mark by which it is known.

As root, its run directory and its /dev/shm are small file systems in a mount namespace of its own,
so that they can be filled and looked at from outside.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil

from contracts.project import ROOT

DISK_BYTES, SHARED_BYTES = 24 << 20, 1 << 30
_MARK = "METRONOME_TRIAL"
_SHM = Path("/dev/shm")


class Stage:
    """One place for a run and for what goes on with it; `close` ends all that is left."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder, self._cache, self._mark = folder, cache, uuid.uuid4().hex
        self.disk = folder / "disk"
        self.run_dir = self.disk / "run"
        self.disk.mkdir(parents=True)
        self._holder: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            self._hold_namespace()
        self._interfaces = set(psutil.net_if_addrs())
        self._files = self._shared_files()

    def command(self, *words: str) -> list[str]:
        """Return what executes Metronome's command line here."""
        enter = []
        if self._holder is not None:
            enter = ["nsenter", f"--target={self._holder.pid}", "--mount", "--"]
        return [*enter, sys.executable, "-m", "cli", *words]

    def environment(self) -> dict[str, str]:
        """Return the environment in which all that it starts can be recognised."""
        ours = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(self._cache), _MARK: self._mark}
        return os.environ | ours

    def outside(self, path: Path) -> Path:
        """Return where a path of the run is for us."""
        return Path(f"/proc/{self._holder.pid}/root{path}") if self._holder is not None else path

    def processes(self) -> list[psutil.Process]:
        """Return every process that carries this stage's mark, zombies aside."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                environment = Path(f"/proc/{process.pid}/environ").read_bytes()
                if self._mark.encode() in environment:
                    found.append(process)
        return [process for process in found if not _is_zombie(process)]

    def left(self) -> list[str]:
        """Return what a run has left behind: processes, files in /dev/shm, interfaces, mounts."""
        found = [f"process {process.pid} ({process.name()})" for process in self.processes()]
        found += [f"file {path}" for path in sorted(self._shared_files() - self._files)]
        new = set(psutil.net_if_addrs()) - self._interfaces
        return found + [f"interface {name}" for name in sorted(new)]

    def close(self) -> None:
        """End what is left of the run, and the namespace with its file systems."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _hold_namespace(self) -> None:
        mounts = (
            f"mount -t tmpfs -o size={SHARED_BYTES} trial {_SHM} && "
            f"mount -t tmpfs -o size={DISK_BYTES} trial '{self.disk}' && echo up && exec sleep 1d"
        )
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts]
        self._holder = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == b"up\n", "no namespace for the trial"

    def _shared_files(self) -> set[str]:
        return {path.name for path in self.outside(_SHM).iterdir()}


@contextlib.contextmanager
def staged(folder: Path, cache: Path) -> Iterator[Stage]:
    """Make a stage, and take it down."""
    stage = Stage(folder, cache)
    try:
        yield stage
    finally:
        stage.close()


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
