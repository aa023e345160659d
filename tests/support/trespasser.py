"""What runs inside instead of the launcher, and tries to touch what is outside, in many ways.

It tries as root with every right, as who takes over the launcher would be, and as a node, which has
given up its rights. What became of it is in `found.json` in the run directory. Nothing is tried
outside, and what should succeed after all does no harm.
"""

import contextlib
import ctypes
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from contracts.project import ROOT
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from netem import rights, syscalls
from netem.mininet_parts import fork_with_network

NOBODYS_SESSION = "999999999 0\n"
_REMOUNT, _PTRACE_SEIZE = 0x20, 0x4206
SECRET = "a secret of the host"
Attempt = Callable[[], object]


def main(directories: list[str]) -> None:
    """Try everything, and write down what succeeded; an error's text is what did not."""
    run_dir, spool = Path(directories[0]), Spool(Path(directories[1]))
    as_root = _attempts(run_dir, spool) | _traps(run_dir, spool)
    found = {"root": _tried(as_root), "node": _as_a_node(run_dir, spool)}
    (run_dir / "found.json").write_text(json.dumps(found, indent=1))


def try_as_a_node(run_dir: Path, spool: Spool) -> dict[str, str]:
    """Try what no node may do; return what became of each."""
    return _tried(_attempts(run_dir, spool) | _traps(run_dir, spool) | _deeds_of_root())


def _as_a_node(run_dir: Path, spool: Spool) -> dict[str, str]:
    def be_a_node(_name: str, line: socket.socket) -> None:
        rights.give_up()
        line.sendall(json.dumps(try_as_a_node(run_dir, spool)).encode() + b"\n")

    pid, line, route = fork_with_network("node", be_a_node)
    with line.makefile() as said:
        found: dict[str, str] = json.loads(said.readline())
    os.waitpid(pid, 0)
    route.close()
    return found


def is_inside() -> bool:
    """Whether this is a process of a run, in a guest or in namespaces, and not one of the host."""
    first = Path("/proc/1/cmdline").read_text(errors="replace")
    insides = ("netem.guest.init", "nodes.launcher", "tests.support.trespasser")
    return any(name in first for name in insides)


def _tried(attempts: dict[str, Attempt]) -> dict[str, str]:
    if not is_inside():
        raise RuntimeError("these attempts are for the inside of a run")
    found = {}
    for name, attempt in attempts.items():
        try:
            found[name] = f"done: {attempt()}"
        except Exception as error:
            found[name] = str(error) or type(error).__name__
    return found


def _attempts(run_dir: Path, spool: Spool) -> dict[str, Attempt]:
    """Name what would reach the outside."""
    outside = run_dir.parent / "outside"
    secret = outside / "secret"
    code = ROOT / "netem" / "trespassed.py"
    files = RunDirectory(run_dir)
    return {
        "read beside the run directory": secret.read_text,
        "list beside the run directory": lambda: os.listdir(outside),
        "read up from the run directory": (run_dir / ".." / "outside" / "secret").read_text,
        "read another run": lambda: os.listdir(ROOT / ".git"),
        "read the passwords": Path("/etc/shadow").read_text,
        "list the home": lambda: _not_empty(os.listdir("/root")),
        "follow the links of processes": Path(f"/proc/1/root{secret}").read_text,
        "follow our own link": Path(f"/proc/self/root{secret}").read_text,
        "leave the root": lambda: _out_of_the_root(secret),
        "mount the machine's files": lambda: _mounted("/", str(secret)),
        "mount what is outside": lambda: _mounted(str(outside), "/secret"),
        "mount up from the run directory": lambda: _mounted(f"{run_dir}/../outside", "/secret"),
        "mount a file": lambda: _mounted("/etc/shadow", ""),
        "write through a mount of all": lambda: _written_in_a_mount("/", code),
        "write after a remount": lambda: _written_after_remount(code),
        "change rights in a mount of all": lambda: _mounted(
            "/", "/usr", lambda at: at.chmod(0o755)
        ),
        "link in a mount of all": lambda: _linked_in_a_mount(run_dir),
        "move out of the run directory": lambda: _moved_out(run_dir, outside),
        "link to the host's file": lambda: os.link("/etc/passwd", run_dir / "hard"),
        "change the plan": lambda: files.plan.write_text("{}"),
        "replace the plan": lambda: _replaced(run_dir, files.plan),
        "take the host's logs": lambda: os.rename(files.logs, run_dir / "mine"),
        "name sessions to kill": lambda: spool.sessions.write_text(NOBODYS_SESSION),
        "replace the sessions": lambda: _replaced(spool.root, spool.sessions),
        "free the lock": spool.lock.unlink,
        "see the machine's memory": lambda: _device(1, 1),
        "see the machine's disk": lambda: _device(98, 0, stat.S_IFBLK),
    }


def _traps(run_dir: Path, spool: Spool) -> dict[str, Attempt]:
    """Name what programs of the host could fall for."""
    return {
        "leave a file that runs as its owner": lambda: _set_uid(run_dir / "setuid"),
        "make a file that runs as its owner": lambda: _made_set_uid(run_dir / "setuid too"),
        "give a file away": lambda: os.chown(_made(run_dir / "gift"), 4242, -1),
        "leave a link to the outside": lambda: (run_dir / "link").symlink_to("/etc/shadow"),
        "leave a link in the spool": lambda: (spool.results / "x").symlink_to("/etc/shadow"),
        "leave a pipe": lambda: os.mkfifo(spool.results / "pipe"),
        "leave a device": lambda: os.mknod(spool.results / "device", stat.S_IFCHR, 0x103),
        "leave a hard link": lambda: os.link(_made(spool.results / "one"), spool.results / "two"),
    }


def _deeds_of_root() -> dict[str, Attempt]:
    """Name what root inside may do, to what is only inside, and a node may not."""
    parent = os.getppid()
    return {
        "mount": lambda: syscalls.mount("tmpfs", "/mnt", "tmpfs"),
        "make a device": lambda: os.mknod("/tmp/device", stat.S_IFCHR | 0o666, 0x103),
        "change the root": lambda: os.chroot("/tmp"),
        "load a module": lambda: syscalls.load_module("/usr/bin/env"),
        "set what the kernel runs": lambda: _write_again("/proc/sys/kernel/core_pattern"),
        "set how the kernel runs": lambda: _write_again("/proc/sys/kernel/panic"),
        "read its parent's memory": lambda: Path(f"/proc/{parent}/mem").open("rb").close(),
        "see its parent's files": lambda: os.listdir(f"/proc/{parent}/root"),
        "trace its parent": lambda: _trace(parent),
        "make a network": syscalls.unshare_network,
        "sniff": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300).close(),
        "change the time": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    }


@contextlib.contextmanager
def _mount_of(what: str, flags: int = 0) -> Iterator[Path]:
    """Mount the host's directory by the guest's means, or a machine's own by binding it."""
    at = Path("/tmp/mounted")
    at.mkdir(exist_ok=True)
    if "hostfs" in Path("/proc/filesystems").read_text():
        syscalls.mount("none", str(at), "hostfs", what, flags)
    else:
        syscalls.bind(what, str(at))
    try:
        yield at
    finally:
        ctypes.CDLL(None).umount2(str(at).encode(), 2)


def _mounted(what: str, below: str, then: Callable[[Path], object] = Path.read_text) -> object:
    with _mount_of(what) as at:
        return then(Path(f"{at}{below}"))


def _chmod_as_it_is(path: Path) -> None:
    path.chmod(stat.S_IMODE(path.stat().st_mode))


def _written_in_a_mount(what: str, path: Path) -> None:
    with _mount_of(what) as at:
        _made(Path(f"{at}{path}")).unlink()


def _written_after_remount(path: Path) -> None:
    """On the native backend root itself may remount, so there this is for nodes to fail at."""
    with _mount_of("/") as at:
        code = ctypes.CDLL(None, use_errno=True).mount(None, str(at).encode(), None, _REMOUNT, None)
        if code:
            raise OSError(ctypes.get_errno(), "remount")
        _made(Path(f"{at}{path}")).unlink()


def _out_of_the_root(secret: Path) -> str:
    """The old way out of a chroot: enter another one, and climb from a directory outside it."""
    os.makedirs("/tmp/deeper", exist_ok=True)
    here = os.open("/", os.O_RDONLY)
    try:
        os.chroot("/tmp/deeper")
        os.fchdir(here)
        for _ in range(32):
            os.chdir("..")
        return Path(str(secret).lstrip("/")).read_text()
    finally:
        os.fchdir(here)
        os.chroot(".")
        os.close(here)


def _moved_out(run_dir: Path, outside: Path) -> None:
    mine = _made(run_dir / "to move")
    with _mount_of("/") as at:
        os.rename(f"{at}{mine}", f"{at}{outside}/moved")


def _linked_in_a_mount(run_dir: Path) -> None:
    with _mount_of("/") as at:
        os.link(f"{at}/usr/bin/env", f"{at}{run_dir}/env")


def _replaced(folder: Path, path: Path) -> None:
    os.rename(_made(folder / "other"), path)


def _set_uid(path: Path) -> str:
    _made(path).chmod(0o4755)
    return _runs_as_owner(path)


def _made_set_uid(path: Path) -> str:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))
    return _runs_as_owner(path)


def _runs_as_owner(path: Path) -> str:
    if not path.stat().st_mode & stat.S_ISUID:
        raise PermissionError("it runs as who starts it")
    return "it runs as its owner"


def _made(path: Path) -> Path:
    path.write_text("made inside")
    return path


def _device(major: int, minor: int, kind: int = stat.S_IFCHR) -> bytes:
    path = Path(f"/tmp/device-{major}-{minor}")
    path.unlink(missing_ok=True)
    os.mknod(path, kind | 0o600, os.makedev(major, minor))
    with path.open("rb") as file:
        return file.read(16)


def _trace(process: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(_PTRACE_SEIZE, process, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")


def _write_again(path: str) -> None:
    Path(path).write_text(Path(path).read_text())


def _not_empty(names: list[str]) -> list[str]:
    if not names:
        raise FileNotFoundError("there is nothing in it")
    return names


if __name__ == "__main__":
    main(sys.argv[1:])
