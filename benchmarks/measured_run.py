"""One run of ours inside a benchmark: what the host has used is noted as rounds end."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import psutil

from contracts.status import RoundEnded, Status
from netem import backends
from runner import execution
from runner.preparation import prepare
from scenarios import loader

_POLL_SECONDS = 0.01  # how soon the end of a round is noticed

Noted = TypeVar("Noted")


def processor_seconds() -> float:
    """Return what all processes below this one have used so far."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        # Children that have ended count too: each is in its parent's sums once it was waited for.
        total += times.user + times.system + times.children_user + times.children_system
    return total


@dataclass(frozen=True)
class Moment:
    """A moment of the host's clock, and the processor time used up to it."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> "Moment":
        """Note the clock and the processes below this one."""
        return cls(time.monotonic(), processor_seconds())

    def since(self, earlier: "Moment", rounds: int) -> "Moment":
        """Return what passed and what was used for each of so many rounds."""
        return Moment(
            (self.clock - earlier.clock) / rounds, (self.processor - earlier.processor) / rounds
        )


class Enough(Exception):
    """Training is over; nobody needs to wait for the last evaluations."""


class Meter(Generic[Noted]):
    """In the place of a run's display: notes something at the first round's start, and later."""

    def __init__(self, note_now: Callable[[], Noted]) -> None:
        self._note_now = note_now
        self.noted: list[Noted] = []
        self.elapsed: list[float] = []  # emulated seconds, at the same moments

    def status(self, record: Status) -> None:
        """Note it whenever a round has ended."""
        if isinstance(record, RoundEnded):
            self.noted.append(self._note_now())
            self.elapsed.append(record.elapsed)

    def note(self, sentence: str) -> None:
        """Show what the user should know."""
        print(sentence)

    def evaluating(self) -> None:
        """End the run: evaluation is not measured."""
        raise Enough

    def evaluation(self, line: dict[str, Any]) -> None:
        """Do nothing."""

    def tick(self) -> None:
        """Do nothing."""


def execute(
    settings: Mapping[str, Any],
    run_dir: Path,
    note_now: Callable[[], Noted],
    workers: int,
    data: Path | None = None,
) -> Meter[Noted]:
    """Run a scenario in the guest; the meter has a note from each round's end, and the start."""
    scenario = loader.check(dict(settings))
    prepared = prepare(scenario, data, run_dir)
    backend = backends.create("guest", scenario.clock, scenario.seed)
    backend.prepare(prepared.plan, print)
    prepared.write()
    meter = Meter(note_now)
    execution._POLL_SECONDS = _POLL_SECONDS
    with contextlib.suppress(Enough):
        execution.Runner(prepared, backend, meter, workers).run()
    return meter
