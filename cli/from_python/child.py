"""Runs a command of Metronome in a process of its own, and shows its last line meanwhile.

A process of its own can be interrupted, ends with the notebook's, and leaves nothing loaded here.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from contracts.errors import BadInput
from contracts.project import ROOT
from netem import syscalls
from runner.execution import RunFailed

_PATIENCE_SECONDS = 60.0  # for an interrupted run to end its guest and write its records
_WIDTH = 100  # of the line that is shown
_BAD_INPUT = 2


def command(words: Sequence[str], quiet: bool = False) -> str:
    """Run `metronome WORDS` and return what it printed.

    BadInput or RunFailed, with the sentence that it ended with, unless all went well.
    """
    parent = os.getpid()
    with subprocess.Popen(
        [sys.executable, "-m", "cli", *words],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=lambda: _die_with(parent),
    ) as process:
        assert process.stdout is not None
        lines = []
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                if not quiet:
                    _show(lines[-1])
        except KeyboardInterrupt:
            _end(process)
            raise
        finally:
            if not quiet:
                _show("")
                print("\r", end="", flush=True)
    said = next((line for line in reversed(lines) if line.strip()), "it said nothing")
    if process.returncode == _BAD_INPUT:
        raise BadInput(said.removeprefix("metronome: "))
    if process.returncode != 0:
        raise RunFailed(said)
    return "\n".join(lines)


def _environment() -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    plain = {"TTY_COMPATIBLE": "0", "COLUMNS": str(_WIDTH), "PYTHONUNBUFFERED": "1"}
    own = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "PATH": f"{path}:/usr/sbin:/sbin"}
    return os.environ | plain | own


def _show(line: str) -> None:
    """Replace the line that is shown, in a terminal as in a notebook."""
    print("\r" + line[:_WIDTH].ljust(_WIDTH), end="", flush=True)


def _die_with(parent: int) -> None:
    """Called in the new process: have the kernel end it with the one that started it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    syscalls.die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _end(process: "subprocess.Popen[str]") -> None:
    """End an interrupted command, which writes its records before it goes."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_PATIENCE_SECONDS)
        return
    process.kill()
