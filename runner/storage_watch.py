"""Watches the places that a run writes to: whether they are there, writable and have room.

Whoever meets trouble there first, a node or a worker, says only that a file could not be written.
"""

import os
from dataclasses import dataclass
from pathlib import Path

# So much is left to summarise a run with, whose directory the disk has no more room for.
RESERVE = 2 << 20
_LEAST_SHARED = 1 << 20  # in the spool, and where the guest's memory is


@dataclass(frozen=True)
class _Place:
    what: str
    path: Path
    least: int


class StorageWatch:
    """Knows a run's directory even if somebody renames it."""

    def __init__(self, run_dir: Path, spool: Path, guest_memory: Path | None) -> None:
        self._run_dir, self._spool = run_dir, spool
        self._directory = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        places = [
            _Place("the run's directory", run_dir, RESERVE),
            _Place("the run's spool", spool, _LEAST_SHARED),
        ]
        if guest_memory is not None:
            places.append(_Place("the guest's memory", guest_memory, _LEAST_SHARED))
        self._places = places

    def close(self) -> None:
        """Let go of the run's directory."""
        os.close(self._directory)

    def run_directory(self) -> Path | None:
        """Return where the run's directory is by now; None if it was removed."""
        if os.fstat(self._directory).st_nlink == 0:
            return None
        return Path(os.readlink(f"/proc/self/fd/{self._directory}"))

    def trouble(self) -> str | None:
        """Say what is wrong, if anything is; cheap enough to ask many times a second."""
        return (
            self._moved() or self._no_spool() or next(filter(None, map(_lacks, self._places)), None)
        )

    def _moved(self) -> str | None:
        try:
            there = os.stat(self._run_dir)
            if os.path.samestat(there, os.fstat(self._directory)):
                return None
        except OSError as error:
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                return f"{self._run_dir}: the run's directory {_reason(error)}"
        now = self.run_directory()
        what = "removed" if now is None else f"renamed to {now}"
        return f"{self._run_dir}: the run's directory was {what} while the run went on"

    def _no_spool(self) -> str | None:
        if self._spool.is_dir():
            return None
        return f"{self._spool}: the run's spool was removed while the run went on"


def lacks_room(path: Path) -> str | None:
    """Say why no run can begin in this directory, if it has not even room for its summary."""
    return _lacks(_Place("the run's directory", path, RESERVE))


def _lacks(place: _Place) -> str | None:
    try:
        found = os.statvfs(place.path)
    except OSError as error:
        return f"{place.path}: {place.what} {_reason(error)}"
    if found.f_flag & os.ST_RDONLY:
        return f"{place.path}: {place.what} is on a file system that has become read-only"
    blocks = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    files = found.f_ffree if os.geteuid() == 0 else found.f_favail
    # Some file systems do not count their blocks, or their files.
    if found.f_blocks and blocks * found.f_frsize < place.least:
        return (
            f"{place.path}: {place.what} has no room left, {blocks * found.f_frsize >> 10} kB on a "
            f"file system of {found.f_blocks * found.f_frsize >> 20} MB; free some"
        )
    if found.f_files and not files:
        return f"{place.path}: {place.what} is on a file system that can hold no more files"
    return None


def _reason(error: OSError) -> str:
    return f"cannot be reached ({os.strerror(error.errno or 0).lower()})"
