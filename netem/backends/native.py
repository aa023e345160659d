"""Mininet on this kernel, inside namespaces of its own, so that it leaves nothing behind.

Switches, links and processes live in a network and a process namespace that end with their first
process, however that ends.
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


class Native:
    """The `native` backend; needs root."""

    name = "native"

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Nothing is needed beyond what `choose` has checked."""

    def kernel_identity(self) -> str:
        """Return the release of the host's own kernel."""
        return platform.release()

    def start(
        self, run_dir: Path, spool: Spool, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        """Start the launcher in namespaces that end with it."""
        inside = [sys.executable, "-m", process.LAUNCHER, str(run_dir), str(spool.root)]
        return process.start([*_UNSHARE, *inside], log, interactive, {"OPENBLAS_NUM_THREADS": "1"})

    def watch(self, inside: "subprocess.Popen[bytes]", spool: Spool, log: Path) -> SpinWatch | None:
        """Nobody can stop the host's clock."""
        return None

    def end(self, inside: "subprocess.Popen[bytes]") -> None:
        """The first process takes its namespaces along."""
        inside.kill()
        inside.wait()
