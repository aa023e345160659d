"""Mininet on this kernel, inside namespaces of its own, so that it leaves nothing behind.

Switches, links and processes live in a network and a process namespace that end with their first
process, however that ends.
"""

import subprocess
import sys
from pathlib import Path

from netem.backends import process

_UNSHARE = ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]


class Native:
    """The `native` backend; needs root."""

    name = "native"

    def start(
        self, run_dir: Path, spool: Path, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        command = [*_UNSHARE, sys.executable, "-m", process.LAUNCHER, str(run_dir), str(spool)]
        return process.start(command, log, interactive, {"OPENBLAS_NUM_THREADS": "1"})
