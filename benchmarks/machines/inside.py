"""The first process of a fresh machine: makes it out of a folder, then runs one command in it.

    unshare --mount --pid --ipc --uts --fork python -m benchmarks.machines.inside '{"root": ...}'

Whatever it mounts and starts belongs to those namespaces and vanishes with this process.
"""

import ctypes
import json
import os
import socket
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path

from netem import syscalls

_BIND, _REMOUNT, _READ_ONLY, _RECURSIVE = 0x1000, 0x20, 0x1, 0x4000
_PIVOT_ROOT, _DETACH = 155, 2
_DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}  # minor numbers, major 1


@dataclass
class Setting:
    """What the machine is made of, and what runs on it; passed as JSON."""

    root: str
    command: list[str]
    folder: str  # where the command starts
    environment: dict[str, str]
    shared_memory: str = "50%"  # the size of /dev/shm, as tmpfs takes it
    read_only: list[str] = field(default_factory=list)  # folders of ours that it sees
    shared: dict[str, str] = field(default_factory=dict)  # and may write, by where they are there
    user: int = 0


def main() -> int:
    """Make the machine, run the command there, and return its exit code."""
    setting = Setting(**json.loads(sys.argv[1]))
    root = Path(setting.root)
    syscalls.mount(str(root), str(root), "", flags=_BIND)
    _mount_system(root, setting.shared_memory)
    for folder in setting.read_only:
        _bind(folder, root / folder.lstrip("/"))
        syscalls.mount("", str(root / folder.lstrip("/")), "", flags=_REMOUNT | _BIND | _READ_ONLY)
    for there, here in setting.shared.items():
        _bind(here, root / there.lstrip("/"))
    # Not chroot(2): inside a chroot the kernel refuses user namespaces, which machines have.
    _change_root(root)
    socket.sethostname("fresh")
    child = os.fork()
    if child == 0:
        _become(setting)
    return _wait(child)


def _mount_system(root: Path, shared_memory: str) -> None:
    """Mount what a container has: /proc, /sys, /run, and a /dev with the least that is usual."""
    syscalls.mount("proc", str(root / "proc"), "proc")
    syscalls.mount("sysfs", str(root / "sys"), "sysfs")
    syscalls.mount("tmpfs", str(root / "run"), "tmpfs", "mode=755")
    (root / "run/lock").mkdir()
    dev = root / "dev"
    syscalls.mount("tmpfs", str(dev), "tmpfs", "mode=755,size=64k")
    os.umask(0)
    for name, minor in _DEVICES.items():
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(1, minor))
    os.mknod(dev / "tty", stat.S_IFCHR | 0o666, os.makedev(5, 0))
    os.umask(0o022)
    for name in ("pts", "shm"):
        (dev / name).mkdir()
    syscalls.mount("devpts", str(dev / "pts"), "devpts", "newinstance,ptmxmode=666,mode=620,gid=5")
    syscalls.mount("tmpfs", str(dev / "shm"), "tmpfs", f"mode=1777,size={shared_memory}")
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd")):
        (dev / name).symlink_to(target)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (dev / name).symlink_to(f"/proc/self/fd/{number}")


def _bind(source: str, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    syscalls.mount(source, str(target), "", flags=_BIND | _RECURSIVE)


def _change_root(root: Path) -> None:
    """Make this folder, which is a mount, the root of all processes here; let the old one go."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.chdir(root)
    if libc.syscall(_PIVOT_ROOT, b".", b".") < 0 or libc.umount2(b".", _DETACH) < 0:
        raise OSError(ctypes.get_errno(), f"{root} cannot become the root")
    os.chdir("/")


def _become(setting: Setting) -> None:
    """Turn the calling process into the command; never returns."""
    try:
        os.setsid()
        if setting.user:
            os.setgroups([])
            os.setgid(setting.user)
            os.setuid(setting.user)
        os.chdir(setting.folder)
        os.execvpe(setting.command[0], setting.command, setting.environment)
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
    finally:
        os._exit(127)


def _wait(child: int) -> int:
    """Wait for the command; orphans that end meanwhile are buried too, as an init does."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main())
