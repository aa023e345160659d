"""The first process of a native run: lays a root with what may be touched, starts the launcher.

Run as `python -m netem.native_root COMMAND...` inside the run's own namespaces, with the lines of
netem/host_files.py in its environment. The root lives in memory and goes with the namespaces; the
machine's files are bound into it, read-only but for the run directory and the spool.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contracts.project import ROOT
from netem import syscalls
from netem.host_files import VARIABLE

_ROOM = "size=256m,mode=755"  # for what programs write elsewhere, such as /tmp
# The new root is laid here, because this is a mount of our own, also in a chroot: elsewhere the
# machine might see what we mount.
_PLACE = Path("/proc")
_SAFE = syscalls.NO_SETUID | syscalls.NO_DEVICES


@dataclass(frozen=True)
class _Source:
    """A line of what may be touched, and the file or directory itself, opened before mounting."""

    kind: str
    path: Path
    opened: int
    mode: int  # as in `st_mode`

    @property
    def target(self) -> Path:
        """Where it is to be."""
        return Path(f"{_PLACE}{self.path}")

    @property
    def is_device(self) -> bool:
        """Whether it is a device such as /dev/null."""
        return stat.S_ISCHR(self.mode)


def main(command: list[str]) -> None:
    """Lay the root, change into it, and become the command."""
    sources = list(_sources(os.environ[VARIABLE]))
    os.chdir("/proc/self/fd")  # what was opened can be bound from here, whatever is mounted above
    syscalls.mount("tmpfs", str(_PLACE), "tmpfs", _ROOM)
    for source in sources:
        _lay(source)
    _mount_kernel_files()
    _restrict(sources)
    try:
        syscalls.change_root(str(_PLACE))
    except OSError:  # the root that we have is no mount: in a chroot
        os.chroot(_PLACE)
    os.chdir(ROOT)
    os.execv(command[0], command)


def _sources(lines: str) -> Iterator[_Source]:
    """Open whatever is there; the lines are in the order of their paths."""
    for line in lines.splitlines():
        path = Path(line[2:])
        try:
            opened = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        yield _Source(line[0], path, opened, os.fstat(opened).st_mode)


def _lay(source: _Source) -> None:
    """Make a place for it, unless what is above has brought one, and bind it there."""
    target, is_there = source.target, os.path.lexists(source.target)
    if stat.S_ISLNK(source.mode):
        target.symlink_to(os.readlink("", dir_fd=source.opened))
        return
    if not is_there and stat.S_ISDIR(source.mode):
        target.mkdir()
        target.chmod(stat.S_IMODE(source.mode))
    elif not is_there:
        target.touch()
    only_a_place = source.kind == "s" and stat.S_ISDIR(source.mode) and not is_there
    if not only_a_place and source.path != Path("/"):
        syscalls.bind(str(source.opened), str(target))


def _mount_kernel_files() -> None:
    """Mount what shows this kernel, and terminals for Mininet's shells."""
    syscalls.mount("proc", f"{_PLACE}/proc", "proc")
    syscalls.mount("sysfs", f"{_PLACE}/sys", "sysfs", flags=syscalls.READ_ONLY | _SAFE)
    syscalls.mount("devpts", f"{_PLACE}/dev/pts", "devpts", "newinstance,ptmxmode=0666")
    ptmx = _PLACE / "dev" / "ptmx"
    if not ptmx.is_symlink():
        ptmx.touch()
        syscalls.bind(f"{_PLACE}/dev/pts/ptmx", str(ptmx))


def _restrict(sources: list[_Source]) -> None:
    """Make every bound mount read-only, with those mounted below it, but the directories to write.

    /proc and the terminals stay as they are; nodes change that when they start (netem/rights.py).
    """
    kinds = {source.target: source.kind for source in sources}
    left_alone = {_PLACE, *(_PLACE / name for name in ("proc", "sys", "dev/pts", "dev/ptmx"))}
    left_alone |= {source.target for source in sources if source.is_device}
    for line in Path(f"{_PLACE}/proc/self/mountinfo").read_text().splitlines():
        name = re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), line.split()[4])
        mounted = Path(name)
        if mounted in left_alone or _PLACE not in mounted.parents:
            continue
        kind = next(kinds[path] for path in (mounted, *mounted.parents) if path in kinds)
        syscalls.change_mount(name, _SAFE | (0 if kind == "w" else syscalls.READ_ONLY))


if __name__ == "__main__":
    main(sys.argv[1:])
