"""The work that every peer does: the same trainings, from one prepared run directory."""

import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.training import Result, Task
from learning.evaluation.scores import evaluate
from learning.training.context import TrainingContext
from learning.training.learning_rate import learning_rate_in
from learning.training.sgd import train
from nodes.compute import training_seed
from protocols.wire import read_file


def scenario(clients: int, rounds: int, epochs: int) -> dict[str, Any]:
    """FedAvg with LeNet-5 on FashionMNIST, on the virtual clock; devices take no time."""
    return {
        "name": "peers",
        "clock": "virtual",
        "task": {
            "dataset": "fashionmnist",
            "model": "lenet5",
            "partition": "iid",
            "samples_per_client": 600,
            "batch_size": 10,
            "learning_rate": 0.01,
            "momentum": 0.9,
        },
        "protocol": {"name": "fedavg", "rounds": rounds, "local_epochs": epochs},
        "topology": {"kind": "star", "clients": clients},
        "links": {"client-cloud": "wifi"},
        "devices": {"client": "instant", "cloud": "instant"},
    }


class Work:
    """The trainings of a prepared run, for whoever wants to do them."""

    def __init__(self, run_dir: Path) -> None:
        files = RunDirectory(run_dir)
        self.plan = Plan.from_json(files.plan.read_text())
        self.clients = len(self.plan.nodes) - 1  # the other one is the cloud
        self._run_dir = run_dir
        self._context: TrainingContext | None = None

    def first_model(self) -> dict[str, np.ndarray]:
        """Return the weights that round 1 starts from."""
        return dict(read_file(RunDirectory(self._run_dir).initial_model).tensors)

    def task(self, client: int, current_round: int, model: Mapping[str, np.ndarray]) -> Task:
        """Return what this client trains in this round: the same as in our own run."""
        fixed = self.plan.training
        return Task(
            job=f"client{client}-{current_round}",
            client=client,
            epochs=self.plan.settings["local_epochs"],
            batch_size=fixed.batch_size,
            learning_rate=learning_rate_in(fixed, current_round),
            momentum=fixed.momentum,
            weight_decay=fixed.weight_decay,
            shuffle=fixed.shuffle,
            seed=training_seed(self.plan.seed, client, current_round),
            rule="",
            settings={},
            tensors=dict(model),
        )

    def train(self, client: int, current_round: int, model: Mapping[str, np.ndarray]) -> Result:
        """Train it in this process."""
        return train(self.task(client, current_round, model), self._loaded())

    def accuracy(self, model: Mapping[str, np.ndarray]) -> float:
        """Return a model's accuracy on the test samples."""
        return evaluate(model, self._loaded()).accuracy

    def _loaded(self) -> TrainingContext:
        if self._context is None:
            self._context = TrainingContext.load(self._run_dir)
            self._context.warm_up()
        return self._context


def training_alone(run_dir: Path, rounds: int, processes: int) -> float:
    """Return the processor seconds of one round's trainings, with as many processes as cores.

    Nothing is sent or averaged, and the first round, in which code and data are loaded, does not
    count.
    """
    with ProcessPoolExecutor(processes, get_context("spawn"), _load, (run_dir,)) as pool:
        clients = range(Work(run_dir).clients)
        taken = [sum(pool.map(_seconds, clients, [r] * len(clients))) for r in range(rounds + 1)]
    return sum(taken[1:]) / rounds


_work: Work
_model: dict[str, np.ndarray]


def _load(run_dir: Path) -> None:
    global _work, _model
    _work = Work(run_dir)
    _model = _work.first_model()


def _seconds(client: int, current_round: int) -> float:
    began = time.process_time()
    _work.train(client, current_round + 1, _model)
    return time.process_time() - began
