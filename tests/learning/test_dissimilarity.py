"""xi^2 and G^2: against numbers worked out by hand, in the evaluator's lines, and in the report."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from contracts.errors import BadInput
from contracts.spool import Spool
from learning.data import datasets
from learning.data.dataset import Dataset
from learning.evaluation.dissimilarity import full_gradient, measure_dissimilarity
from learning.evaluation.evaluator import Evaluator
from learning.models import registry as models
from learning.training.context import TrainingContext
from protocols.wire import Message, write_file
from reports.figures.dissimilarity import dissimilarity_rows, report_dissimilarity
from reports.records.run_records import RunRecords
from scenarios import loader
from tests.support.scenario_trees import star_scenario, tree_scenario

torch.set_num_threads(1)

TINY = datasets.load("tiny", None)


class TwoBiases(nn.Module):
    """Two classes, whatever the image: the outputs are the two parameters themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2))
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        kept: Tensor = self.dropout(self.bias)
        return kept.expand(len(x), 2)


def _two_classes(labels: list[int]) -> Dataset:
    images = np.zeros((len(labels), 1, 4, 4), np.uint8)
    return replace(TINY, train_inputs=images, train_labels=np.array(labels), classes=2)


# With both biases 0 the classes have probability 1/2, and the gradient of a sample of class 0 is
# (-1/2, 1/2), of class 1 (1/2, -1/2). A client whose share of class 0 is q has (1/2 - q)(1, -1).


def test_one_step_by_hand() -> None:
    # Client 0 has 3 samples of class 0, client 1 one of each: q = 1 and 1/2, so gradients
    # (-1/2, 1/2) and (0, 0). All 5 together: q = 4/5, grad F = (-.3, .3).
    # G^2 = 1/2 (2 * .2^2 + 2 * .3^2) = .13; the server has one of class 1: xi^2 = 2 * .8^2 = 1.28.
    dataset = _two_classes([0, 0, 0, 0, 1])
    server = np.zeros((1, 1, 4, 4), np.uint8), np.array([1])
    parts = [np.array([0, 1, 2]), np.array([3, 4])]
    context = TrainingContext(dataset, parts, TwoBiases(), server=server)

    found = measure_dissimilarity({"bias": np.zeros(2, np.float32)}, context)

    assert found.g_squared == pytest.approx(0.13)
    assert found.xi_squared == pytest.approx(1.28)


def test_clients_alike_have_no_dissimilarity_and_no_server_no_xi() -> None:
    dataset = _two_classes([0, 1, 1, 0])
    context = TrainingContext(dataset, [np.array([0, 1]), np.array([2, 3])], TwoBiases())

    found = measure_dissimilarity({"bias": np.array([0.3, -2], np.float32)}, context)

    assert found.g_squared == pytest.approx(0, abs=1e-12) and found.g_squared >= 0
    assert found.xi_squared is None


def test_sums_give_what_all_gradients_at_once_give() -> None:
    parts = [np.arange(first, first + 5 + 2 * first) for first in range(6)]
    server = TINY.train_inputs[:9], TINY.train_labels[:9]
    module = models.build("tiny-mlp", (1, 28, 28), 10, seed=3)
    context = TrainingContext(TINY, parts, module, server=server)

    found = measure_dissimilarity(models.export_weights(module), context)

    rows = torch.stack([full_gradient(module, *context.samples(i)) for i in range(6)])
    sizes = torch.tensor([len(part) for part in parts], dtype=torch.float64)
    common = (sizes / sizes.sum()) @ rows
    assert found.g_squared == pytest.approx(float((rows - common).square().sum(1).mean()))
    own = full_gradient(module, *context.samples(-1))
    assert found.xi_squared == pytest.approx(float((own - common).square().sum()))


def test_a_gradient_is_of_the_mean_over_all_batches() -> None:
    module = models.build("tiny-mlp", (1, 28, 28), 10, seed=3)
    context = TrainingContext(TINY, [np.arange(1_100)], module)
    images, labels = context.samples(0)

    row = full_gradient(module, images, labels)

    loss = torch.nn.functional.cross_entropy(module(images), labels)
    expected = torch.cat(
        [g.flatten() for g in torch.autograd.grad(loss, list(module.parameters()))]
    )
    torch.testing.assert_close(row.float(), expected)
    assert row.dtype == torch.float64


def _lines(
    directory: Path, rounds: list[tuple[int, str]], weight: float = 0.01, **options: Any
) -> list[dict[str, Any]]:
    """What the evaluator has to say of models that have the same weight everywhere."""
    module = models.build("tiny-mlp", (1, 28, 28), 10, seed=0)
    context = TrainingContext(TINY, [np.arange(4), np.arange(9)], module)
    path = directory / "evaluations.jsonl"
    spool = Spool(directory)
    spool.create()
    evaluator = Evaluator(spool, path, lambda: context, **options)
    tensors = {
        name: np.full_like(array, weight) for name, array in models.export_weights(module).items()
    }
    for round, key in rounds:
        message = Message("evaluate", key, round, {"round": round, "key": key}, tensors)
        write_file(spool.model_to_evaluate(f"{round:04}-{key}"), message)
    while evaluator.step():
        pass
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_evaluator_measures_at_the_chosen_rounds(tmp_path: Path) -> None:
    models_there = [(round, "global") for round in (0, 1, 49, 50, 100)]

    lines = _lines(tmp_path, [*models_there, (50, "edge1")], dissimilarity_every=50)

    measured = [line for line in lines if line["key"] == "dissimilarity"]
    assert [line["round"] for line in measured] == [0, 50, 100]
    assert measured[0]["g_squared"] > 0 and measured[0]["xi_squared"] is None
    assert len(lines) == 9


def test_without_the_setting_nothing_is_measured(tmp_path: Path) -> None:
    assert [line["key"] for line in _lines(tmp_path, [(0, "global")])] == ["global"]


def test_weights_that_burst_have_a_line_without_numbers(tmp_path: Path) -> None:
    *_, line = _lines(tmp_path, [(0, "global")], weight=3e38, dissimilarity_every=1)
    assert line == {"round": 0, "key": "dissimilarity", "xi_squared": None, "g_squared": None}


def test_a_run_that_measured_has_a_table_and_a_figure(tmp_path: Path) -> None:
    lines = [
        {"round": 50, "key": "dissimilarity", "xi_squared": None, "g_squared": 0.25},
        {"round": 0, "key": "dissimilarity", "xi_squared": 0.5, "g_squared": 4.0},
        {"round": 0, "key": "global", "accuracy": 0.1},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "evaluations.jsonl").write_text(text)
    records = RunRecords(tmp_path)

    report_dissimilarity(records.files, "run", records.evaluations, {0: 0, 50: 1_500_000})

    with (tmp_path / "dissimilarity.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["round", "elapsed_seconds", "xi_squared", "g_squared"],
        ["0", "0.0", "0.5", "4.0"],
        ["50", "1.5", "", "0.25"],
    ]
    assert (tmp_path / "dissimilarity.png").stat().st_size > 1000


def test_a_run_that_did_not_measure_has_neither(tmp_path: Path) -> None:
    records = RunRecords(tmp_path)
    report_dissimilarity(records.files, "run", records.evaluations, {})
    assert dissimilarity_rows(records.evaluations, {}) == []
    assert not list(tmp_path.iterdir())


def test_the_setting_is_a_count_and_needs_a_cloud() -> None:
    task = {"dataset": "tiny", "model": "lenet5", "dissimilarity_every": 50}
    assert loader.check(tree_scenario(task=task)).task.dissimilarity_every == 50
    with pytest.raises(BadInput, match=r"task\.dissimilarity_every: "):
        loader.check(star_scenario(task=task | {"dissimilarity_every": 0}))
    cells: dict[str, Any] = {
        "topology": {"kind": "cells", "cells": 2, "alone": 2},
        "links": {"client-edge": "wifi"},
        "devices": {"client": "phone", "edge": "laptop-core"},
        "protocol": {"name": "es-fl", "rounds": 1},
    }
    with pytest.raises(BadInput, match=r"dissimilarity_every: .* here is none; leave it out"):
        loader.check(tree_scenario(task=task, **cells))
