"""The short form of the trial; `./metronome test --faults` knows many more faults."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from learning.remembering.store import place
from learning.user_cache import shared_except
from tests.faults.catalogue import KILL, PAUSE, named
from tests.faults.trial import LOST, Trial

pytestmark = [pytest.mark.emulation, pytest.mark.timeout(1800)]

TRIED = (
    ("training", KILL, "the evaluator"),
    ("training", KILL, "a worker"),
    ("training", KILL, "the guest's kernel"),
    ("training", PAUSE, "all processes"),
    ("joining", "filling", "/dev/shm"),
    ("training", "filling", "the run's disk"),
    ("training", "renaming", "the run's directory"),
    ("finishing", KILL, "the runner"),
)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    folder, numbers = tmp_path_factory.mktemp("trial"), count()

    def cache() -> Path:
        return shared_except(place().name, folder / f"cache-{next(numbers)}")

    yield Trial(folder, cache, seed=1)


@pytest.mark.parametrize(("phase", "what", "target"), TRIED)
def test_no_run_is_lost(trial: Trial, phase: str, what: str, target: str) -> None:
    case = named("guest", phase, what, target)
    if case is None:
        pytest.skip("only root may fill the file systems that it takes")

    verdict = trial.attempt(case)

    assert verdict.how != LOST, verdict.words
