"""Starts the process that a backend runs: the launcher itself, or the guest it runs in."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from contracts.project import ROOT
from netem import syscalls

LAUNCHER_MODULE = "nodes.launcher"  # by name: netem may not import nodes


def start(
    command: list[str], log: Path, interactive: bool, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a process that is killed when ours ends.

    It has a session of its own and writes to `log`; if interactive, it shares our terminal instead.
    """
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=None if interactive else output,
            stderr=None if interactive else output,
            start_new_session=not interactive,
            env=os.environ | environment,
            preexec_fn=lambda: syscalls.die_with_parent(signal.SIGKILL),
        )
