"""One run from outside the network: what is followed, and that nothing is left at the end."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.plan import Plan
from contracts.spool import Spool
from contracts.status import Status
from learning.evaluation.supervisor import EvaluatorSupervisor
from learning.workers.supervisor import WorkerPool
from netem.guest.spinning import SpinWatch
from runner import execution as runner_module
from runner.execution import RunFailed, Runner
from runner.preparation import PreparedRun
from scenarios import loader
from tests.support.lines import PATIENCE
from tests.support.only_places import only_place
from tests.support.scenario_trees import planned, star_scenario

_UNTIL_TOLD = "while [ ! -e $0/evaluate/stop ]; do sleep 0.01; done"
SAY = "import sys, time; say = lambda line: open(sys.argv[1], 'a').write(line + '\\n'); "


class FakeBackend:
    """A backend whose launcher is a few lines of Python."""

    name = "guest"

    def __init__(self, program: str, watch: SpinWatch | None = None) -> None:
        self._program, self._watch = program, watch
        self.process: subprocess.Popen[bytes] | None = None

    def start(
        self,
        run_dir: Path,
        spool: Spool,
        log: Path,
        interactive: bool,
        readable: Sequence[Path] = (),
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

    def memory_at(self) -> Path | None:
        return None

    def watch(
        self, launcher: "subprocess.Popen[bytes]", spool: Spool, log: Path
    ) -> SpinWatch | None:
        return self._watch

    def end(self, launcher: "subprocess.Popen[bytes]") -> None:
        launcher.kill()
        launcher.wait()


class Watcher:
    """A display that remembers."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.notes: list[str] = []
        self.accuracies: list[float] = []
        self.ticked = threading.Event()

    def status(self, record: Status) -> None:
        self.phases.append(record.phase)

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)

    def evaluating(self) -> None:
        self.phases.append("evaluating")

    def evaluation(self, line: dict[str, Any]) -> None:
        self.accuracies.append(line["accuracy"])

    def tick(self) -> None:
        self.ticked.set()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for /dev/shm, and an evaluator that waits for its stop file and no torch."""
    monkeypatch.setattr(EvaluatorSupervisor, "_command", _evaluator)
    monkeypatch.setattr(runner_module, "_POLL_SECONDS", 0.01)
    with only_place(monkeypatch) as path:
        yield path


def _evaluator(self: EvaluatorSupervisor, code: int = 0) -> list[str]:
    return ["sh", "-c", f"{_UNTIL_TOLD}; exit $1", str(self._spool.root), str(code)]


def runner_of(
    tmp_path: Path, program: str, display: Watcher | None = None, watch: SpinWatch | None = None
) -> tuple[Runner, FakeBackend, Watcher]:
    tree = star_scenario(clients=1)
    run_dir = tmp_path / "run"
    (run_dir / "logs").mkdir(parents=True)
    (run_dir / "learning.json").write_text('{"data_dir": null}')
    plan = planned(tree)
    object.__setattr__(plan, "trainer", "inline")  # no workers
    initial = {"w": np.zeros(1, np.float32)}
    prepared = PreparedRun(loader.check(tree), plan, run_dir, initial, [], None)
    backend, watcher = FakeBackend(program, watch), display or Watcher()
    return Runner(prepared, backend, watcher, workers=0), backend, watcher


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


def test_an_evaluator_that_fails_twice_ends_the_run(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EvaluatorSupervisor, "_command", lambda self: _evaluator(self, code=3))
    runner, backend, watcher = runner_of(tmp_path, 'say(\'{"phase": "done"}\')')

    with pytest.raises(RunFailed, match=r"the evaluator died with exit code 3; .*before it"):
        runner.run()

    assert [note.endswith("another one goes on") for note in watcher.notes] == [True]
    assert nothing_is_left(shared, backend)


def test_an_evaluator_that_dies_is_followed_by_another_one_at_once(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "died"
    program = "[ -e $1 ] || { touch $1; kill -9 $$; }; " + _UNTIL_TOLD
    monkeypatch.setattr(
        EvaluatorSupervisor,
        "_command",
        lambda self: ["sh", "-c", program, str(self._spool.root), str(first)],
    )
    runner, backend, watcher = runner_of(tmp_path, 'time.sleep(0.5); say(\'{"phase": "done"}\')')

    runner.run()

    assert len(watcher.notes) == 1 and "died of signal 9" in watcher.notes[0]
    assert nothing_is_left(shared, backend)


class EvaluatorClock(Watcher):
    """A host's clock that moves only while the last models are evaluated.

    In one tick the seconds pass that a model takes, in the next the model is there. After the last
    one the evaluator ends.
    """

    def __init__(self, lines: Path, seconds_each: float, models: int) -> None:
        super().__init__()
        self._lines, self._seconds_each, self._left = lines, seconds_each, models
        self._now, self._passed = 0.0, False

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def tick(self) -> None:
        if self.phases[-1:] != ["evaluating"] or self._left < 0:
            return
        self._passed = not self._passed
        if self._passed:
            self._now += self._seconds_each
            return
        with self._lines.open("a") as file:
            file.write('{"round": 1, "accuracy": 0.5}\n' if self._left > 0 else '"over"')
        self._left -= 1

    def evaluator(self) -> list[str]:
        program = 'until grep -qs over "$0"; do sleep 0.01; done'
        return ["sh", "-c", program, str(self._lines)]


@pytest.mark.parametrize(("seconds_each", "failure"), [(5000.0, None), (8000.0, "did not get on")])
def test_an_evaluator_may_take_its_time_as_long_as_it_gets_on(
    shared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds_each: float,
    failure: str | None,
) -> None:
    clock = EvaluatorClock(tmp_path / "run" / "evaluations.jsonl", seconds_each, models=5)
    monkeypatch.setattr(runner_module, "time", clock)
    monkeypatch.setattr(EvaluatorSupervisor, "_command", lambda _self: clock.evaluator())
    runner, _, _ = runner_of(tmp_path, 'say(\'{"phase": "done"}\')', clock)

    with pytest.raises(RunFailed, match=failure) if failure else contextlib.nullcontext():
        runner.run()

    assert len(clock.accuracies) == (0 if failure else 5), "the last models are shown too"


# Hanging: workers that never get ready, processes that spin


def test_workers_that_are_never_ready_end_the_run(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WorkerPool, "ready", lambda _self: False)
    monkeypatch.setattr(runner_module, "_WORKERS_SECONDS", 0.2)
    runner, backend, _ = runner_of(tmp_path, "time.sleep(300)")

    with pytest.raises(RunFailed, match=r"^the workers were not ready after 0.2 s; see logs/"):
        runner.run()

    assert nothing_is_left(shared, backend)


class SeesSpinning(SpinWatch):
    """A watch that takes every guest for one that spins."""

    def __init__(self) -> None:
        super().__init__(os.getpid(), Path("no console"), Path("no log"))

    def spinning_process(self) -> str | None:
        return "client7"


def test_a_guest_that_spins_ends_the_run_with_the_time_it_was_given(
    shared: Path, tmp_path: Path
) -> None:
    runner, backend, _ = runner_of(tmp_path, "time.sleep(300)", watch=SeesSpinning())

    with pytest.raises(RunFailed, match=r"^client7: burned the processor for 1800 s without"):
        runner.run()

    assert nothing_is_left(shared, backend)


def test_a_guest_that_waits_for_the_workers_does_not_spin(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WorkerPool, "ready", lambda _self: False)
    watch = SeesSpinning()
    program = 'say(\'{"phase": "training", "seconds": 1}\'); say(\'{"phase": "done"}\')'
    runner, _, _ = runner_of(tmp_path, program, watch=watch)

    runner.run()

    assert runner.host.startup is not None
    assert watch.limit == max(60.0, 10 * runner.host.startup), "the start-up showed how slow it is"


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
