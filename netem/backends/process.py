"""How both backends start the inside."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from contracts.project import ROOT
from netem import syscalls

LAUNCHER = "nodes.launcher"  # the module that both run, inside


def start(
    command: list[str], log: Path, interactive: bool, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """A process that ends with ours; in a session of its own or, interactive, in our terminal."""
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
