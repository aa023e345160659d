"""One run from outside the network: what is followed, and that nothing is left at the end."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.plan import Plan
from contracts.spool import Spool
from contracts.status import Status
from runner import execution as runner_module
from runner.execution import RunFailed, Runner
from runner.preparation import PreparedRun
from scenarios import loader
from tests.support.lines import PATIENCE
from tests.support.only_places import only_place
from tests.support.scenario_trees import planned, star_scenario

SAY = "import sys, time; say = lambda line: open(sys.argv[1], 'a').write(line + '\\n'); "


class FakeBackend:
    """A backend whose launcher is a few lines of Python."""

    name = "guest"

    def __init__(self, program: str) -> None:
        self._program = program
        self.process: subprocess.Popen[bytes] | None = None

    def start(
        self, run_dir: Path, spool: Spool, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", SAY + self._program, str(spool.status)]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True
            )
        return self.process

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Nothing to prepare."""

    def kernel_identity(self) -> str:
        return "none"

    def watch(self, launcher: "subprocess.Popen[bytes]", spool: Spool, log: Path) -> None:
        return None

    def end(self, launcher: "subprocess.Popen[bytes]") -> None:
        launcher.kill()
        launcher.wait()


class Watcher:
    """A display that remembers."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.accuracies: list[float] = []
        self.ticked = threading.Event()

    def status(self, record: Status) -> None:
        self.phases.append(record.phase)

    def evaluating(self) -> None:
        self.phases.append("evaluating")

    def evaluation(self, line: dict[str, Any]) -> None:
        self.accuracies.append(line["accuracy"])

    def tick(self) -> None:
        self.ticked.set()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for /dev/shm, and an evaluator that waits for its stop file and no torch."""
    monkeypatch.setattr(Runner, "_start_evaluator", _evaluator)
    monkeypatch.setattr(runner_module, "_POLL_SECONDS", 0.01)
    with only_place(monkeypatch) as path:
        yield path


def _evaluator(_self: Runner, spool: Spool, code: int = 0) -> "subprocess.Popen[bytes]":
    program = "while [ ! -e $0/evaluate/stop ]; do sleep 0.01; done; exit $1"
    return subprocess.Popen(["sh", "-c", program, str(spool.root), str(code)])


def runner_of(tmp_path: Path, program: str) -> tuple[Runner, FakeBackend, Watcher]:
    tree = star_scenario(clients=1)
    run_dir = tmp_path / "run"
    (run_dir / "logs").mkdir(parents=True)
    plan = planned(tree)
    object.__setattr__(plan, "trainer", "inline")  # no workers
    initial = {"w": np.zeros(1, np.float32)}
    prepared = PreparedRun(loader.check(tree), plan, run_dir, initial, [], None)
    backend, watcher = FakeBackend(program), Watcher()
    return Runner(prepared, backend, watcher), backend, watcher


def nothing_is_left(shared: Path, backend: FakeBackend) -> bool:
    assert backend.process is not None
    return list(shared.iterdir()) == [] and backend.process.poll() is not None


def test_a_run_is_followed_to_its_end(shared: Path, tmp_path: Path) -> None:
    program = """
say('{"phase": "network", "nodes": 2}')
say('{"phase": "lost", "node": "client1", "error": "gone"}')
say('{"phase": "done"}')
"""
    runner, backend, watcher = runner_of(tmp_path, program)
    (tmp_path / "run" / "evaluations.jsonl").write_text('{"round": 0, "accuracy": 0.5}\n{"rou')

    runner.run()

    assert watcher.phases == ["network", "lost", "evaluating"]
    assert runner.lost == ["client1"]
    assert nothing_is_left(shared, backend)


def test_what_was_evaluated_is_shown_line_by_line(shared: Path, tmp_path: Path) -> None:
    runner, _, watcher = runner_of(tmp_path, 'time.sleep(0.3); say(\'{"phase": "done"}\')')
    lines = tmp_path / "run" / "evaluations.jsonl"
    lines.write_text('{"round": 0, "accuracy": 0.5}\n{"round": 1, "accu')

    runner.run()

    assert watcher.accuracies == [0.5], "half a line is not read"


def test_a_failure_inside_ends_the_run_with_its_own_words(shared: Path, tmp_path: Path) -> None:
    program = 'say(\'{"phase": "failed", "error": "client1: it broke"}\'); time.sleep(0.05)'
    runner, backend, _ = runner_of(tmp_path, program)

    with pytest.raises(RunFailed, match=r"^client1: it broke$"):
        runner.run()

    assert nothing_is_left(shared, backend)


def test_an_inside_that_vanishes_ends_the_run_with_its_last_words(
    shared: Path, tmp_path: Path
) -> None:
    runner, backend, _ = runner_of(tmp_path, "print('first', flush=True); sys.exit('no memory')")

    with pytest.raises(
        RunFailed, match=r"ended by itself \(code 1\): no memory; see .*network.log"
    ):
        runner.run()

    assert nothing_is_left(shared, backend)


def test_what_an_inside_said_before_it_vanished_counts(shared: Path, tmp_path: Path) -> None:
    runner, _, _ = runner_of(tmp_path, 'say(\'{"phase": "done"}\'); sys.exit(1)')

    runner.run()


def test_an_evaluator_that_fails_ends_the_run(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Runner, "_start_evaluator", lambda self, spool: _evaluator(self, spool, code=3)
    )
    runner, backend, _ = runner_of(tmp_path, 'say(\'{"phase": "done"}\')')

    with pytest.raises(RunFailed, match="the evaluator ended with code 3"):
        runner.run()

    assert nothing_is_left(shared, backend)


def _slow_evaluator(self: Runner, _spool: Spool, lines: int) -> "subprocess.Popen[bytes]":
    """Needs a moment for each of its models."""
    program = 'for n in $(seq $1); do sleep 0.2; echo {} >> "$0"; done; sleep 0.2'
    file = str(self._run_dir / "evaluations.jsonl")
    return subprocess.Popen(["sh", "-c", program, file, str(lines)])


@pytest.mark.parametrize(("allowed", "failure"), [(0.6, None), (0.05, "did not get on")])
def test_an_evaluator_may_take_its_time_as_long_as_it_gets_on(
    shared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    allowed: float,
    failure: str | None,
) -> None:
    monkeypatch.setattr(Runner, "_start_evaluator", lambda s, spool: _slow_evaluator(s, spool, 5))
    monkeypatch.setattr(runner_module, "_EVALUATION_SECONDS", allowed)
    runner, _, _ = runner_of(tmp_path, 'say(\'{"phase": "done"}\')')

    with pytest.raises(RunFailed, match=failure) if failure else contextlib.nullcontext():
        runner.run()


def test_an_interruption_leaves_nothing_behind(shared: Path, tmp_path: Path) -> None:
    runner, backend, watcher = runner_of(tmp_path, "time.sleep(30)")

    def interrupt() -> None:
        if watcher.ticked.wait(PATIENCE):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runner.run()

    assert time.monotonic() - before < PATIENCE
    assert nothing_is_left(shared, backend)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
