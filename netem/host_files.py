"""What the inside of a run may touch of the host's files: the boundary, alike on both backends.

The run directory and the spool may be changed, the project's code, Python and the system's programs
and libraries may be read, and nothing else exists. The guest's kernel keeps to it
(netem/guest/patches, the piece `host-files`), or the mounts of a native run do
(netem.native_root.py). Both are given the same lines.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

from contracts.errors import BadInput
from contracts.project import ROOT
from contracts.run_directory import RunDirectory
from contracts.spool import Spool

# w: what is below may be changed; r: it may be read; s: it alone can be seen, as a way to the
# others or a place for a mount. Where two apply, the longer path counts.
Kind = Literal["w", "r", "s"]

# The environment variable with the lines; nothing inside can change it.
VARIABLE = "METRONOME_FILES"

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Of /etc what programs look for, and nothing that is a secret on some machine.
_SETTINGS = (
    *("alternatives", "bash.bashrc", "debian_version", "ethertypes", "fonts", "group", "host.conf"),
    *("hostname", "hosts", "inputrc", "iproute2", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("locale.alias", "localtime", "magic", "mailcap", "mime.types", "networks", "nsswitch.conf"),
    *("os-release", "passwd", "profile", "protocols", "python3", "python3.11", "python3.12"),
    *("python3.13", "python3.14", "rpc", "services", "shells", "ssl/openssl.cnf", "terminfo"),
    "timezone",
)
_PLACES = ("/dev/pts", "/dev/shm", "/mnt", "/proc", "/root", "/run", "/sys", "/tmp", "/var/tmp")
_LINKS = ("/dev/fd", "/dev/ptmx", "/dev/stderr", "/dev/stdin", "/dev/stdout", "/var/run")
_DEVICES = ("console", "full", "net/tun", "null", "random", "tty", "urandom", "zero")
# Of a Python installation or a virtual environment; not all of it, which may be somebody's home.
_OF_PYTHON = ("bin", "lib", "lib64", "pyvenv.cfg")
_MOST_LINKS = 40  # in one path, as the kernel has it


def lines(run_dir: Path, spool: Spool, readable: Iterable[Path] = ()) -> str:
    """Return what may be touched, a line for each: its kind, a space, its path without links.

    `readable` is what this run needs besides, such as its data. What the host trusts in the two
    directories cannot be changed, whether it is there already or not.
    """
    run_dir = run_dir.resolve()
    found: dict[PurePosixPath, Kind] = {}
    for path in (*map(Path, _SYSTEM), *(Path("/etc", name) for name in _SETTINGS)):
        _add(found, "r", path)
    for path in (*_of_python(), *_code(), *readable):
        _add(found, "r", path)
    for name in (*_PLACES, *_LINKS, *(f"/dev/{name}" for name in _DEVICES)):
        _add(found, "s", Path(name))
    for path in (run_dir, spool.root):
        _add(found, "w", path)
    found = {path: kind for path, kind in found.items() if not _covered(path, kind, found)}
    found |= {PurePosixPath(path): "s" for path in spool.of_the_host}
    found |= {PurePosixPath(path): "r" for path in RunDirectory(run_dir).of_the_host}
    ordered = [f"{kind} {path}" for path, kind in sorted(found.items())]
    for line in ordered:
        if "\n" in line:
            raise BadInput(
                f"{line[2:]!r}: a path with a line break cannot be shown to the nodes; rename it"
            )
    return "\n".join(ordered)


def _of_python() -> Iterator[Path]:
    """Yield where this Python and its packages are; also packages that are shared with it."""
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        yield from (Path(prefix, name) for name in _OF_PYTHON)
    for name in sys.path:
        if Path(name).name in ("site-packages", "dist-packages"):
            yield Path(name)


def _code() -> Iterator[Path]:
    """Yield the project's rooms, but not what else is kept beside them, such as other runs."""
    yield ROOT / "pyproject.toml"  # it has the version
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.is_dir() and any(path.glob("*.py")):
            yield path


def _add(found: dict[PurePosixPath, Kind], kind: Kind, path: Path) -> None:
    """Add a path, the way to it, and where it leads if there are symbolic links in it."""
    at, links = PurePosixPath("/"), 0
    left = list(PurePosixPath(os.path.abspath(path)).parts[1:])
    _take(found, "s", at)
    while left:
        part = left.pop(0)
        at = at.parent if part == ".." else at / part
        if not os.path.lexists(at):
            return
        is_last_seen = kind == "s" and not left  # where such a link leads does not matter
        if os.path.islink(at) and not is_last_seen:
            _take(found, "s", at)
            links += 1
            if links > _MOST_LINKS:
                return
            leads = PurePosixPath(os.readlink(at))
            at = PurePosixPath("/") if leads.is_absolute() else at.parent
            left = [*leads.parts[leads.is_absolute() :], *left]
        else:
            _take(found, "s" if left else kind, at)


def _take(found: dict[PurePosixPath, Kind], kind: Kind, path: PurePosixPath) -> None:
    if found.get(path, "s") == "s":
        found[path] = kind


def _covered(path: PurePosixPath, kind: Kind, found: dict[PurePosixPath, Kind]) -> bool:
    """Whether a line for something above says the same already."""
    above = next((found[one] for one in path.parents if found.get(one, "s") != "s"), None)
    return above is not None and (kind == "s" or kind == above)
