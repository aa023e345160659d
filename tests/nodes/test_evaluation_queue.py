"""Models wait for the evaluator within a bound: on the virtual clock the node waits too."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import ROUNDS_BEHIND, Spool
from nodes.evaluation_queue import model_file
from tests.support.lines import PATIENCE
from tests.support.scenario_trees import planned, star_scenario


@pytest.fixture
def full(tmp_path: Path) -> Spool:
    spool = Spool(tmp_path / "spool")
    spool.create()
    for number in range(ROUNDS_BEHIND):
        spool.model_to_evaluate(f"round-{number:05d}").touch()
    return spool


def plan(pause: str) -> Plan:
    return replace(planned(star_scenario(clients=1)), pause=pause)


def test_with_room_a_model_goes_into_the_spool(full: Spool, tmp_path: Path) -> None:
    full.model_to_evaluate("round-00000").unlink()

    for pause in ("sleep", "fsync"):
        path = model_file(plan(pause), tmp_path, full, "cloud", "round-00010")
        assert path == full.model_to_evaluate("round-00010")


def test_on_the_wall_clock_nobody_waits_and_the_runs_directory_takes_it(
    full: Spool, tmp_path: Path
) -> None:
    path = model_file(plan("sleep"), tmp_path, full, "cloud", "round-00010")

    assert path == RunDirectory(tmp_path).waiting_models / "round-00010.model"
    assert path.parent.is_dir()


def test_on_the_virtual_clock_a_node_waits_for_the_evaluator(full: Spool, tmp_path: Path) -> None:
    found: list[Path] = []
    waiting = threading.Thread(
        target=lambda: found.append(model_file(plan("fsync"), tmp_path, full, "cloud", "new")),
        daemon=True,
    )
    waiting.start()
    waiting.join(0.3)
    assert found == []

    full.model_to_evaluate("round-00000").unlink()
    waiting.join(PATIENCE)

    assert found == [full.model_to_evaluate("new")]
