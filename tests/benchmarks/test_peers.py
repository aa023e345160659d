"""benchmarks.peers without Flower: the same work, the rounds, a sentence where Flower lacks."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.measured_run import Moment
from benchmarks.peers import environment, flower, work
from benchmarks.peers.__main__ import per_round, row
from contracts.project import ROOT
from contracts.training import Pending, Task
from nodes.compute import Computer
from nodes.devices import OwnDevice
from protocols.base import Job, Work
from runner.preparation import prepare
from scenarios import loader

TINY = {"dataset": "tiny", "model": "tiny-mlp", "samples_per_client": 20}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings: dict[str, Any] = work.scenario(clients=2, rounds=3, epochs=2)
    folder = tmp_path_factory.mktemp("peers") / "run"
    prepare(loader.check(settings | {"task": settings["task"] | TINY}), None, folder).write()
    return folder


class Noted:
    """Keeps the tasks that a node submits."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def submit(self, task: Task) -> Pending:
        self.tasks.append(task)
        return None  # type: ignore[return-value]

    def close(self) -> None: ...


def test_a_peer_trains_what_a_node_of_ours_has_trained(run_dir: Path) -> None:
    shared, trainer = work.Work(run_dir), Noted()
    model = shared.first_model()
    node = shared.plan.node("client2")

    Computer(node, shared.plan, trainer, OwnDevice()).begin(
        Job(to=("cloud",), model=model, work=Work(epochs=2)), 3, "cloud"
    )
    ours, peers = trainer.tasks[0], shared.task(node.index, 3, model)

    fields = set(Task.__dataclass_fields__) - {"job", "tensors"}
    assert {f: getattr(peers, f) for f in fields} == {f: getattr(ours, f) for f in fields}
    assert all(np.array_equal(peers.tensors[name], model[name]) for name in model)


def test_the_trainings_alone_are_measured_in_processes_of_their_own(run_dir: Path) -> None:
    assert work.training_alone(run_dir, rounds=1, processes=1) > 0
    assert work.Work(run_dir).clients == 2


def test_without_flower_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", "--flower", tmp_path / "none"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Flower is not installed there" in done.stderr and "--install" in done.stderr


def test_flower_neither_reports_nor_updates_itself(tmp_path: Path) -> None:
    found = environment.variables(tmp_path / "bin", tmp_path)

    assert found["FLWR_TELEMETRY_ENABLED"] == found["RAY_USAGE_STATS_ENABLED"] == "0"
    assert found["PATH"].startswith(str(tmp_path / "bin"))


def test_a_federation_has_ports_of_its_own() -> None:
    assert len(set(flower.free_ports(13))) == 13


def test_the_first_round_does_not_count() -> None:
    ended = [Moment(*pair) for pair in ((0.0, 0.0), (9.0, 30.0), (10.0, 31.0), (11.0, 34.0))]

    each = per_round(ended)

    assert each == Moment(1.0, 2.0)
    assert row("somebody", each, training=0.5).split()[-1] == "4.00"
