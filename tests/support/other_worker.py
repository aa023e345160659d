"""Another process that works on something: locks belong to processes, so a thread will not do."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from contracts.project import ROOT

_PROGRAM = (
    "import sys; from pathlib import Path; from learning.remembering.store import Store\n"
    "store = Store(Path(sys.argv[1]))\n"
    "print(store.begin(sys.argv[2]), flush=True); sys.stdin.read()\n"
)


@contextlib.contextmanager
def working_on(store: Path, name: str) -> Iterator[None]:
    """Have another process work on this name for as long as the block lasts."""
    words = [sys.executable, "-c", _PROGRAM, str(store), name]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "True\n"
            yield
        finally:
            other.kill()
