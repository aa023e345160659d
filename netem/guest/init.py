"""The guest's first process: lays a throw-away root over the host's files, then runs the launcher.

The guest's kernel starts it as `init`, with the module to run and the writable host directories as
arguments. The root is an overlay whose upper layer lives in the guest's memory, so that programs
may write anywhere. That is a convenience, and not what keeps them from the host's files: our kernel
serves only what it was told to at its start (netem/host_files.py), whatever is mounted.
"""

import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from netem import syscalls

MODULES_ROOT = Path("/usr/lib/uml/modules")
NEEDED_MODULES = ("overlay", "veth", "bridge", "sch_htb", "sch_netem")
NEW_ROOT = "/run/root"
_FLAGS = syscalls.NO_SETUID | syscalls.NO_DEVICES


def main(module: str, writable: list[str]) -> None:
    """Prepare the root, call the module's `main` with the directories, and switch the guest off."""
    try:
        prepare_root(writable)
        __import__(module)
        sys.modules[module].main(writable)
    except BaseException:
        traceback.print_exc()
        Path(writable[0], "guest-failure.txt").write_text(traceback.format_exc())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        syscalls.power_off()


def prepare_root(writable: list[str]) -> None:
    """Overlay the read-only host root, mount what Mininet needs, and change into it."""
    syscalls.mount("proc", "/proc", "proc")
    load_modules()
    syscalls.mount("tmpfs", "/run", "tmpfs")
    for folder in ("upper", "work", "root"):
        os.mkdir(f"/run/{folder}")
    layers = "lowerdir=/,upperdir=/run/upper,workdir=/run/work"
    syscalls.mount("overlay", NEW_ROOT, "overlay", layers)
    syscalls.mount("tmpfs", f"{NEW_ROOT}/run", "tmpfs")  # first: a spool may be below /run
    for path in writable:
        target = NEW_ROOT + path
        os.makedirs(target, exist_ok=True)
        syscalls.mount("none", target, "hostfs", path, _FLAGS)
    os.chroot(NEW_ROOT)
    os.chdir("/")
    syscalls.mount("proc", "/proc", "proc")
    syscalls.mount("sysfs", "/sys", "sysfs")
    syscalls.mount("tmpfs", "/sys/fs/cgroup", "tmpfs")
    os.makedirs("/dev/pts", exist_ok=True)
    syscalls.mount("devpts", "/dev/pts", "devpts", "newinstance,ptmxmode=0666")
    ptmx = Path("/dev/ptmx")
    ptmx.unlink(missing_ok=True)
    ptmx.symlink_to("pts/ptmx")


def load_modules() -> None:
    """Load what the stock kernel has as modules; our own kernel has everything built in."""
    folder = MODULES_ROOT / os.uname().release
    if not (folder / "modules.dep").exists():
        return
    requirements = dict(_dependencies(folder))
    by_name = {Path(path).stem: path for path in requirements}
    for name in NEEDED_MODULES:
        if name in by_name:
            for path in (*reversed(requirements[by_name[name]]), by_name[name]):
                syscalls.load_module(str(folder / path))


def _dependencies(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, needs = line.partition(":")
        yield path, needs.split()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
