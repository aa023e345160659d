"""How many workers a run gets where memory is short."""

import os
import re
from pathlib import Path

import pytest
from rich.console import Console

from cli import run
from contracts.errors import BadInput
from netem import memory_left
from runner import workers_that_fit as module
from runner.preparation import PreparedRun
from runner.workers_that_fit import workers_that_fit
from scenarios import loader
from tests.support.scenario_trees import planned, star_scenario

MB = 1 << 20


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A torch of 100 MB, 50 MB more in each process that loads it; four cores."""
    monkeypatch.setattr(module, "_torch", lambda: module._Torch(100 * MB, 50 * MB))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4))
    return monkeypatch


def set_left(monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    monkeypatch.setattr(memory_left, "memory_left", lambda: megabytes * MB)


@pytest.mark.parametrize(
    ("megabytes", "workers"), [(10_000, 4), (550, 4), (549, 3), (499, 2), (400, 1)]
)
def test_as_many_workers_as_there_is_memory_for(
    left: pytest.MonkeyPatch, megabytes: int, workers: int
) -> None:
    set_left(left, megabytes)  # 100 and 50 for the evaluator, 200 for half of the guest

    assert workers_that_fit(4, guest_bytes=400 * MB) == workers


def test_more_workers_than_cores_leave_memory_to_others(left: pytest.MonkeyPatch) -> None:
    set_left(left, 4000)  # 150 for torch and the evaluator

    assert workers_that_fit(150, guest_bytes=0) == (3000 - 150) // 50


def test_what_a_worker_holds_besides_torch_counts(left: pytest.MonkeyPatch) -> None:
    set_left(left, 500)

    assert workers_that_fit(4, guest_bytes=0, data_bytes=50 * MB) == 3
    with pytest.raises(BadInput, match="this run needs about 750 MB"):
        workers_that_fit(4, guest_bytes=0, data_bytes=550 * MB)


def test_no_memory_for_a_single_worker_is_refused_with_the_numbers(
    left: pytest.MonkeyPatch,
) -> None:
    set_left(left, 399)

    sentence = re.escape("memory: this run needs about 400 MB, and 399 MB are left on this machine")
    with pytest.raises(BadInput, match=sentence):
        workers_that_fit(4, guest_bytes=400 * MB)


def test_a_run_without_workers_needs_memory_for_the_evaluator(left: pytest.MonkeyPatch) -> None:
    set_left(left, 350)
    assert workers_that_fit(0, guest_bytes=400 * MB) == 0

    set_left(left, 349)
    with pytest.raises(BadInput):
        workers_that_fit(0, guest_bytes=400 * MB)


def test_the_installed_torch_is_known() -> None:
    assert module._torch() in (module._WITHOUT_CUDA, module._WITH_CUDA)


def test_a_run_of_too_little_memory_for_all_its_workers_says_how_many_it_has(
    left: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = loader.check(star_scenario(compute={"workers": 3}))
    prepared = PreparedRun(scenario, planned(star_scenario()), tmp_path, {}, [], None)
    set_left(left, 270)

    assert run._workers(prepared, "native", Console()) == 2
    assert capsys.readouterr().out == "memory: there is room for 2 of 3 workers\n"

    set_left(left, 310)  # each holds a few models, too
    assert run._workers(prepared, "native", Console()) == 3
    assert capsys.readouterr().out == ""
