"""The native backend: Mininet on this kernel, in namespaces of its own.

Switches, links and processes live in a network and a process namespace, and see of the machine's
files what netem/host_files.py lists. The namespaces vanish when their first process ends, for
whatever reason, so that a run leaves nothing behind.
"""

import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from contracts.plan import Plan
from contracts.spool import Spool
from netem import host_files, native_root
from netem.backends import process
from netem.guest import kernel_store
from netem.guest.spinning import SpinWatch

_UNSHARE = ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]


def into_namespaces() -> list[str]:
    """Return what to put before a command so that it gets namespaces that end with it."""
    # Mounts inside must not reach the machine, so unshare makes all mounts private, beginning with
    # the root. In a chroot the root need not be a mount; there it does so with /proc only, which
    # is the one that is mounted.
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    root_is_a_mount = any(line.split()[4] == "/" for line in mounts)
    return _UNSHARE if root_is_a_mount else [*_UNSHARE, "--propagation", "unchanged"]


class Native:
    """The `native` backend. It needs root and has only the wall clock.

    `module` is what runs, as with the guest.
    """

    name = "native"

    def __init__(self, module: str = process.LAUNCHER_MODULE) -> None:
        self._module = module

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Do nothing: `choose` has checked all that is needed."""

    def kernel_identity(self) -> str:
        """Return the release of the host's own kernel."""
        return platform.release()

    def memory_at(self) -> Path | None:
        """Return None: there is no guest."""
        return None

    def start(
        self,
        run_dir: Path,
        spool: Spool,
        log: Path,
        interactive: bool,
        readable: Sequence[Path] = (),
    ) -> "subprocess.Popen[bytes]":
        """Start the launcher in namespaces that end with it, below a root of the run's own."""
        run_dir = run_dir.resolve()
        spool.sessions.touch()  # what is there can be kept from the nodes
        command = [*into_namespaces(), sys.executable, "-m", native_root.__name__]
        command += [sys.executable, "-m", self._module, str(run_dir), str(spool.root)]
        environment = {
            "OPENBLAS_NUM_THREADS": "1",
            "HOME": "/root",
            "XDG_CACHE_HOME": str(kernel_store.user_cache()),
            host_files.VARIABLE: host_files.lines(run_dir, spool, readable),
        }
        return process.start(command, log, interactive, environment)

    def watch(
        self, launcher: "subprocess.Popen[bytes]", spool: Spool, log: Path
    ) -> SpinWatch | None:
        """Return None: no process can stop the host's clock."""
        return None

    def end(self, launcher: "subprocess.Popen[bytes]") -> None:
        """Kill the first process of the namespaces, which vanish with it."""
        launcher.kill()
        launcher.wait()
