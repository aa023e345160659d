"""A worker's or the evaluator's process, as whoever started it sees it."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from contracts.project import ROOT
from contracts.storage import about

LOG_TAIL_CHARACTERS = 300
# One that was killed has to give its memory back, which takes a slow host a while.
_KILLED_SECONDS = 60.0


class StartedProcess:
    """A process that adds what it says to a log, and how it died."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start it in a session of its own: Ctrl-C reaches the runner only, which then ends it."""
        self._log = log
        self._log_start = log.stat().st_size if log.exists() else 0
        with about(log), log.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "--parent", str(os.getpid())],
                cwd=ROOT,
                env=os.environ | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self.process.pid

    def alive(self) -> bool:
        """Return whether it runs still, or is stopped."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End it at once, even if it is stopped, and wait until it is gone."""
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_KILLED_SECONDS)

    def cause_of_death(self) -> str:
        """Describe how it died, with the end of its log."""
        code = self.process.returncode
        how = f"with exit code {code}"
        if code < 0:
            how = f"of signal {-code}, {signal.strsignal(-code)}"
        with self._log.open("rb") as file:
            file.seek(self._log_start)
            lines = file.read().decode(errors="replace").split("\n")
        words = " | ".join(line.strip() for line in lines if line.strip())
        return f"{how}; {self._log} ends: {words[-LOG_TAIL_CHARACTERS:] or 'nothing'}"
