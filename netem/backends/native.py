"""Mininet on this kernel, inside namespaces of its own, so that it leaves nothing behind.

Switches, links and processes live in a network and a process namespace that end with their first
process, however that ends.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from netem import syscalls

ROOT = Path(__file__).resolve().parents[2]
_UNSHARE = ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]


class Native:
    """The `native` backend; needs root."""

    name = "native"

    def start(
        self, run_dir: Path, spool: Path, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        command = [*_UNSHARE, sys.executable, "-m", "nodes.launcher", str(run_dir), str(spool)]
        output = None if interactive else log.open("wb")
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=not interactive,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=lambda: syscalls.die_with_parent(signal.SIGKILL),
        )
