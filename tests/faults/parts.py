"""The parts of a run that goes on: its processes, by what they are, and the phase it is in."""

import contextlib
import json
import subprocess
import time
from pathlib import Path

import psutil

from contracts import status
from contracts.spool import Spool
from tests.faults.stage import Stage

_CLIENT, _SERVER = "client1", "cloud"


class Parts:
    """Finds the parts of one run, from the process that was started."""

    def __init__(self, stage: Stage, started: "subprocess.Popen[str]") -> None:
        self._stage, self._started = stage, started

    def find(self, target: str) -> list[psutil.Process]:
        """Return the processes that a disturbance means, as far as they are there."""
        with contextlib.suppress(psutil.Error):
            return self._find(target)
        return []

    def spool(self) -> Spool | None:
        """Return the run's spool while it has one."""
        roots = list(self._stage.outside(Path("/dev/shm")).glob(f"metronome-*-{self._started.pid}"))
        return Spool(roots[0]) if roots else None

    def wait_for(self, phase: str, rounds: int, seconds: float) -> bool:
        """Wait for a phase, in training for so many rounds; False if the run has gone past it."""
        deadline, had_spool = time.monotonic() + seconds, False
        while time.monotonic() < deadline and self._started.poll() is None:
            spool = self.spool()
            had_spool = had_spool or spool is not None
            if phase == "finishing":
                if had_spool and spool is None:
                    return True
            elif spool is not None and self._has_begun(phase, spool, rounds):
                return True
            time.sleep(0.005)
        return False

    def _has_begun(self, phase: str, spool: Spool, rounds: int) -> bool:
        if phase == "set-up":
            return spool.sessions.exists()  # the network is being started
        if phase == "evaluation":
            return spool.stop_evaluator.exists()
        said = [line.get("phase") for line in _lines(spool.status)]
        if phase == "training":
            return said.count(status.RoundEnded.phase) > rounds
        return phase in said

    def _find(self, target: str) -> list[psutil.Process]:
        runner = psutil.Process(self._started.pid)
        children = {child.pid: " ".join(child.cmdline()) for child in runner.children()}

        def those(mark: str) -> list[psutil.Process]:
            return [psutil.Process(pid) for pid, words in children.items() if mark in words]

        launchers = those("netem.guest.guard") + those("unshare")
        below = [child for launcher in launchers for child in launcher.children()]
        inside = [child for process in below for child in process.children(recursive=True)]
        if target == "all processes":
            return [*runner.children(recursive=True), runner]
        found = {
            "the runner": [runner],
            "a worker": those("learning.workers.worker")[:1],
            "all workers": those("learning.workers.worker"),
            "the evaluator": those("learning.evaluation.evaluator"),
            "the guard": launchers,
            "the guest's kernel": below,
            "the launcher": below,
            "a stub": inside[-1:],
            "a client": [process for process in inside if process.name() == _CLIENT],
            "the server": [process for process in inside if process.name() == _SERVER],
        }
        return found[target]


def _lines(path: Path) -> list[dict[str, object]]:
    with contextlib.suppress(OSError, ValueError):
        return [json.loads(line) for line in path.read_text().splitlines()]
    return []
