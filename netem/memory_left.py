"""How much memory this process may still take: the machine's, and its control groups' limits.

A container's limit is one of a control group. Files in a tmpfs count towards it, and whoever goes
over it is killed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class _Files:
    """The files of a memory control group, which differ between the two versions."""

    limit: str
    usage: str
    reclaimable: str  # a line of memory.stat: copies of files, given back when memory is short


_FIRST = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = _Files("memory.max", "memory.current", "inactive_file")


def memory_left() -> int:
    """Return the bytes that can still be taken before something is killed or swapped out."""
    available: int = psutil.virtual_memory().available
    return min([available, *_left_in_groups()])


def _left_in_groups() -> Iterator[int]:
    """Yield what is left in the control group of this process and in those above it."""
    for line in _OWN_GROUPS.read_text().splitlines() if _OWN_GROUPS.exists() else ():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, files = _GROUPS, _SECOND
        elif "memory" in controllers.split(","):
            root, files = _GROUPS / "memory", _FIRST
        else:
            continue
        group = root / path.lstrip("/")
        # A container may see its own group as the root, and yet be told its path outside.
        while group.is_relative_to(root):
            left = _left(group, files)
            if left is not None:
                yield left
            group = group.parent


def _left(group: Path, files: _Files) -> int | None:
    """Return what is left in one group; None if it has no limit, or is not to be seen."""
    try:
        limit = int((group / files.limit).read_text())
        usage = int((group / files.usage).read_text())
        lines = (group / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):  # "max" is no number
        return None
    stats = dict(line.split() for line in lines)
    return max(0, limit - usage + int(stats.get(files.reclaimable, 0)))
