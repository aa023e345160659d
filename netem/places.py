"""Where a run keeps what it needs only while it runs: in memory, or on a disk that has room.

Shared memory is the fastest, but a container may have only 64 MB of it. The guest's memory and the
spool each go to the first of a few directories that has room for them and where the guest's kernel
can work.
"""

import mmap
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import BadInput
from netem import memory_left
from netem.guest import kernel_store

SHARED_MEMORY = Path("/dev/shm")
# The environment variable with which a sweep says how many runs it has at once: guests take their
# memory only as they use it, so free memory alone does not tell whether all of them will fit.
RUNS_AT_ONCE = "METRONOME_RUNS_AT_ONCE"
# A spool has a socket, whose whole path may have 107 characters; the spool's part of them is 53.
LONGEST_PATH = 54
# What can stand in the command line of a kernel, where a space ends a word.
_PLAIN = re.compile(r"[\w./+@%~-]+", re.ASCII)


@dataclass(frozen=True)
class Place:
    """A directory: whether it is memory, the bytes that one run may take, and what forbids it."""

    path: Path
    in_memory: bool
    free: int
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.path} ({self.problem or f'{self.free >> 20} MB free'})"


def candidates() -> list[Path]:
    """Return the directories that may be used, best first, whatever their state."""
    runtime, temporary = os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR") or "/tmp"
    named = [SHARED_MEMORY, *([Path(runtime)] if runtime else []), Path(temporary)]
    return list(dict.fromkeys(path.resolve() for path in (*named, _cache())))


def look(path: Path) -> Place:
    """Find out how much room there is, and try what the guest's kernel and a spool will do."""
    try:
        if path == _cache():
            path.mkdir(parents=True, exist_ok=True)  # the others are not ours to make
        room = shutil.disk_usage(path)
        in_memory = _is_memory(path)
    except OSError as error:
        return Place(path, False, 0, _reason(error))
    free = min(room.free, room.total // _runs_at_once())
    if in_memory:
        free = min(free, memory_left.memory_left())
    return Place(path, in_memory, free, _problem(path))


def choose(needed: int, what: str) -> Place:
    """Return the first place with room for this many bytes; BadInput if none has.

    `what` is what needs them, with its verb: "a guest for 13 nodes may need".
    """
    seen = []
    for path in candidates():
        place = look(path)
        if not place.problem and place.free >= needed:
            return place
        seen.append(str(place))
    raise BadInput(
        f"{what} {needed >> 20} MB, and no place has them: {', '.join(seen)}; free some room, set "
        "TMPDIR to a directory with room, use fewer clients, or a sweep's --jobs"
    )


def describe(place: Place) -> str:
    """Say where it is; if it is a disk, say so, and what is wrong with shared memory."""
    return str(place) if place.in_memory else f"{place}, a disk; not {look(SHARED_MEMORY)}"


def _runs_at_once() -> int:
    said = os.environ.get(RUNS_AT_ONCE, "1")
    if not re.fullmatch("[1-9][0-9]{0,5}", said, re.ASCII):
        raise BadInput(
            f'{RUNS_AT_ONCE}: "{said}" is no number of runs, as a sweep sets it; unset it'
        )
    return int(said)


def _cache() -> Path:
    """Return the directory of the kernels' directory, which is on a disk and may be executed."""
    return kernel_store.kernels().parent.resolve()


def _problem(path: Path) -> str:
    """Say why nothing of ours can be here; empty when it can."""
    if len(str(path)) > LONGEST_PATH:
        return f"its path is longer than {LONGEST_PATH} characters"
    if not _PLAIN.fullmatch(str(path)):
        return "its path has a space or another character that a kernel's command line cannot hold"
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.truncate(mmap.PAGESIZE)
            rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
            mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED, rights).close()
    except PermissionError as error:
        writable = os.access(path, os.W_OK)
        return "programs there may not be executed" if writable else _reason(error)
    except OSError as error:
        return _reason(error)
    return ""


def _is_memory(path: Path) -> bool:
    """Whether the directory is on a file system that lives in memory."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == number:
            return source.split()[0] in ("tmpfs", "ramfs")
    return False


def _reason(error: OSError) -> str:
    return os.strerror(error.errno or 0).lower()
