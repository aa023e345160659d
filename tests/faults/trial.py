"""Disturbs runs one after the other, and judges how each of them ended."""

import contextlib
import random
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contracts.run_directory import RunDirectory
from reports.records.run_records import RunRecords
from tests.faults.catalogue import KILL, Disturbance
from tests.faults.deeds import do
from tests.faults.parts import Parts
from tests.faults.stage import Stage, staged

SURVIVED, REFUSED, LOST, MISSED = "survived", "refused clearly", "lost", "came too late"
_PHASE_SECONDS, _END_SECONDS = 240.0, 600.0
_RECORDS = ("events.jsonl", "links.csv", "rounds.csv", "evaluations.jsonl", "probes.json")
_FINAL = "final.model"
_SENTENCE = re.compile(r"^(?:the run failed: |metronome: ).+$", re.MULTILINE)
_SCENARIO = """
name = "trial"
seed = 3
[task]
dataset = "tiny"
model = "lenet5"
samples_per_client = 100
learning_rate = 0.05
[protocol]
name = "fedavg"
rounds = 8
local_epochs = 2
[topology]
kind = "star"
clients = 2
[links]
client-cloud = {links}
[devices]
client = "laptop-core"
cloud = "droplet-1gb"
[limits]
round = "30s"
join = "60s"
[compute]
workers = 2
"""
_RADIO = '{ rate = "20mbit", delay = "5ms", jitter = "1ms", loss = "0.1%" }'
_GUEST = _SCENARIO.format(links=_RADIO)
_NATIVE = _SCENARIO.format(links='{ rate = "20mbit" }')


@dataclass(frozen=True)
class Verdict:
    """How a disturbed run ended: in which way, with which code, and what it said or did wrong."""

    case: Disturbance
    how: str
    code: int | None
    words: str


class Trial:
    """Knows how undisturbed runs end, and tries disturbances against that."""

    def __init__(self, folder: Path, cache: Callable[[], Path], seed: int) -> None:
        """`cache` makes a new directory for XDG_CACHE_HOME, in which no training is remembered."""
        self._folder, self._cache, self._draws = folder, cache, random.Random(seed)
        self._undisturbed: dict[str, dict[str, bytes]] = {}
        self._number = 0

    def attempt(self, case: Disturbance) -> Verdict:
        """Run, disturb, and judge."""
        if case.backend not in self._undisturbed:
            self._undisturbed[case.backend] = self._reference(case.backend)
        with self._stage() as stage:
            return self._disturbed(case, stage)

    def _stage(self) -> contextlib.AbstractContextManager[Stage]:
        self._number += 1
        return staged(self._folder / f"stage-{self._number}", self._cache())

    def _reference(self, backend: str) -> dict[str, bytes]:
        with self._stage() as stage:
            started = self._start(stage, self._words(backend, stage))
            output, _ = started.communicate(timeout=_END_SECONDS)
            assert started.returncode == 0, output
            return _recorded(backend, stage.outside(stage.run_dir))

    def _words(self, backend: str, stage: Stage) -> list[str]:
        scenario = self._folder / f"{backend}.toml"
        scenario.write_text(_GUEST if backend == "guest" else _NATIVE)
        clock = "virtual" if backend == "guest" else "wall"
        out = ["--out", str(stage.run_dir), "--clock", clock, "--backend", backend]
        return ["run", str(scenario), *out]

    @staticmethod
    def _start(stage: Stage, words: list[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            stage.command(*words),
            env=stage.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _disturbed(self, case: Disturbance, stage: Stage) -> Verdict:
        started = self._start(stage, self._words(case.backend, stage))
        parts = Parts(stage, started)
        rounds, delay = self._draws.randint(1, 4), self._draws.uniform(0.0, 0.2)
        take_back = None
        if parts.wait_for(case.phase, rounds, _PHASE_SECONDS):
            time.sleep(0.0 if case.phase in ("evaluation", "finishing") else delay)
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                take_back = do(case, stage, parts)
        try:
            output, _ = started.communicate(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()
            return Verdict(case, LOST, None, f"still going on after {_END_SECONDS:.0f} s")
        if take_back is None:
            how = MISSED if started.returncode == 0 else LOST
            return Verdict(case, how, started.returncode, _told(output))
        return self._judge(case, stage, started.returncode, output, take_back)

    def _judge(
        self,
        case: Disturbance,
        stage: Stage,
        code: int,
        output: str,
        take_back: Callable[[], None],
    ) -> Verdict:
        faults, told = [], _told(output)
        runner_killed = case.what == KILL and case.target == "the runner"
        if "Traceback" in output:
            faults.append("a traceback")
        if code not in (0, 1, 2) and not runner_killed:
            faults.append(f"exit code {code}")
        if code != 0 and not runner_killed:
            if case.survives:
                faults.append("it should have survived")
            if not told:
                faults.append("no sentence")
            elif not any(cause in told.lower() for cause in case.causes):
                faults.append("another cause is named")
        left = [] if runner_killed else stage.left()
        take_back()
        left = [name for name in left if "what-somebody-else-wrote" not in name]
        run_dir = stage.outside(stage.run_dir)
        faults += [f"left: {name}" for name in left]
        faults += _unreadable(run_dir)
        if code != 0:
            faults += self._resume(case, stage, run_dir)
        elif _recorded(case.backend, run_dir) != self._undisturbed[case.backend]:
            faults.append("other records than undisturbed")
        how = LOST if faults else SURVIVED if code == 0 or runner_killed else REFUSED
        return Verdict(case, how, code, "; ".join([*faults, told]) if faults else told)

    def _resume(self, case: Disturbance, stage: Stage, run_dir: Path) -> list[str]:
        """Go on with the run, or do it again where it had not begun or was removed."""
        files = RunDirectory(run_dir)
        begun = files.scenario.exists() and files.learning.exists()
        words = ["resume", str(stage.run_dir)] if begun else self._words(case.backend, stage)
        if not begun and run_dir.exists():
            subprocess.run(["rm", "-rf", str(run_dir)], check=True)
        again = self._start(stage, words)
        output, _ = again.communicate(timeout=_END_SECONDS)
        if again.returncode != 0:
            return [f"resume ends with {again.returncode}: {_told(output) or output[-200:]}"]
        faults = [f"left after resume: {name}" for name in stage.left()]
        if _recorded(case.backend, run_dir) != self._undisturbed[case.backend]:
            faults.append("other records than undisturbed after resume")
        return faults


def _recorded(backend: str, run_dir: Path) -> dict[str, bytes]:
    """Return what has to be the same; on the wall clock only what was trained is."""
    names = (*_RECORDS, _FINAL) if backend == "guest" else (_FINAL,)
    return {name: (run_dir / name).read_bytes() for name in names if (run_dir / name).exists()}


def _unreadable(run_dir: Path) -> list[str]:
    """Say what of the records cannot be read."""
    if not run_dir.exists():
        return []
    try:
        records = RunRecords.read(run_dir)
        _ = records.events, records.evaluations, records.plan
    except Exception as error:  # whatever it is, the records are not readable
        return [f"records: {type(error).__name__}: {error}"]
    return []


def _told(output: str) -> str:
    """Return the sentence with which a run ended."""
    found = _SENTENCE.findall(output)
    return found[-1] if found else ""
