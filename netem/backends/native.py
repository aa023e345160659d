"""The native backend: Mininet on this kernel, in namespaces of its own.

Switches, links and processes live in a network and a process namespace. Both vanish when their
first process ends, for whatever reason, so that a run leaves nothing behind.
"""

import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from contracts.plan import Plan
from contracts.spool import Spool
from netem.backends import process
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
    """The `native` backend. It needs root and has only the wall clock."""

    name = "native"

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Do nothing: `choose` has checked all that is needed."""

    def kernel_identity(self) -> str:
        """Return the release of the host's own kernel."""
        return platform.release()

    def start(
        self, run_dir: Path, spool: Spool, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        """Start the launcher in namespaces that end with it."""
        command = [*into_namespaces(), sys.executable, "-m", process.LAUNCHER_MODULE]
        command += [str(run_dir), str(spool.root)]
        return process.start(command, log, interactive, {"OPENBLAS_NUM_THREADS": "1"})

    def watch(
        self, launcher: "subprocess.Popen[bytes]", spool: Spool, log: Path
    ) -> SpinWatch | None:
        """Return None: no process can stop the host's clock."""
        return None

    def end(self, launcher: "subprocess.Popen[bytes]") -> None:
        """Kill the first process of the namespaces, which vanish with it."""
        launcher.kill()
        launcher.wait()
