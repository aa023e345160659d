"""Local training: the maths of SGD, repeatable to the bit, open to protocols, and it learns."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from contracts.training import Task
from learning.data import datasets, partitions
from learning.evaluation.scores import evaluate
from learning.models import registry as models
from learning.training.context import TrainingContext
from learning.training.sgd import train
from protocols.local_rules import LocalRule
from tests.support.local_training import PARTITION, TINY, context_of, task_of


def _reference(context: TrainingContext, task: Task) -> tuple[dict[str, np.ndarray], float]:
    """The same training as everybody writes it, with torch.optim.SGD."""
    module = context.module
    optimizer = torch.optim.SGD(
        module.parameters(),
        lr=task.learning_rate,
        momentum=task.momentum,
        weight_decay=task.weight_decay,
    )
    images, labels = context.samples(task.client)
    generator = torch.Generator().manual_seed(task.seed)
    total = 0.0
    for _ in range(task.epochs):
        order = torch.randperm(len(labels), generator=generator)
        if not task.shuffle:
            order = torch.arange(len(labels))
        total = 0.0
        for batch in order.split(task.batch_size):
            optimizer.zero_grad()
            loss = F.cross_entropy(module(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(batch)
    return models.export_weights(module), total / len(labels)


@pytest.mark.parametrize("model", ["lenet5", "tiny-mlp"])
@pytest.mark.parametrize(
    ("momentum", "weight_decay", "shuffle"),
    [(0.0, 0.0, True), (0.9, 0.0, False), (0.0, 1e-2, True), (0.9, 1e-2, True)],
)
def test_training_follows_torch_optim_sgd(
    model: str, momentum: float, weight_decay: float, shuffle: bool
) -> None:
    context = context_of(model)
    task = task_of(context, momentum=momentum, weight_decay=weight_decay, shuffle=shuffle)
    expected, loss = _reference(context_of(model), task)
    result = train(task, context)
    assert list(result.tensors) == list(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(result.tensors[name], array, rtol=1e-4, atol=1e-6)
    assert result.loss == pytest.approx(loss, rel=1e-5)
    assert result.samples == 64
    assert result.steps == 2 * 7
    assert result.host_seconds > 0


def test_same_task_gives_the_same_bits_whatever_was_trained_before() -> None:
    fresh, used = context_of(), context_of()
    task = task_of(fresh)
    train(task_of(used, client=1, seed=5, batch_size=7), used)
    first, second = train(task, fresh), train(task, used)
    for name, array in first.tensors.items():
        assert array.tobytes() == second.tensors[name].tobytes()
    assert first.loss == second.loss


def test_another_seed_visits_the_samples_in_another_order() -> None:
    context = context_of()
    one, other = (train(task_of(context, seed=seed), context) for seed in (1, 2))
    assert not np.array_equal(one.tensors["fc3.bias"], other.tensors["fc3.bias"])


def test_unshuffled_training_does_not_depend_on_the_seed() -> None:
    context = context_of()
    task = task_of(context, shuffle=False)
    one, other = (train(replace(task, seed=seed), context) for seed in (1, 2))
    assert np.array_equal(one.tensors["fc3.bias"], other.tensors["fc3.bias"])


def test_dropout_follows_the_seed() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(784, 10))
    context = TrainingContext(TINY, PARTITION, module)
    task = task_of(context, shuffle=False)
    one, same, other = (train(replace(task, seed=seed), context) for seed in (1, 1, 2))
    assert np.array_equal(one.tensors["2.weight"], same.tensors["2.weight"])
    assert not np.array_equal(one.tensors["2.weight"], other.tensors["2.weight"])


def test_training_updates_batch_norm_statistics() -> None:
    module = nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(784, 10))
    context = TrainingContext(TINY, PARTITION, module)
    task = task_of(context, epochs=1)
    result = train(task, context)
    assert list(result.tensors) == list(task.tensors)
    assert result.tensors["0.running_mean"] != task.tensors["0.running_mean"]


class _Watching(LocalRule):
    """Pulls towards a point that the task brought, and records every call."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def start(self, parameters: Sequence[tuple[str, nn.Parameter]], task: Task) -> None:
        self.calls.append("start")
        self.target = torch.tensor(task.tensors["rule/target"])
        for name, parameter in parameters:
            np.testing.assert_array_equal(parameter.detach().numpy(), task.tensors[name])

    def extra_loss(
        self, model: nn.Module, images: Tensor, outputs: Tensor, step: int
    ) -> Tensor | None:
        self.calls.append(f"loss{step}")
        assert len(images) == len(outputs)
        return 5.0 * (model.get_parameter("3.bias") - self.target).square().sum()

    def adjust_gradients(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], step: int
    ) -> None:
        self.calls.append(f"gradients{step}")
        for name, parameter in named_parameters:
            assert parameter.grad is not None
            if name.startswith("1."):
                parameter.grad.zero_()

    def finish(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], steps: int
    ) -> dict[str, np.ndarray]:
        self.calls.append(f"finish{steps}")
        return {"steps": np.array([steps])}


def test_rule_changes_loss_and_gradients_and_returns_its_own_arrays() -> None:
    context = context_of("tiny-mlp")
    task = task_of(context, epochs=1, batch_size=32, weight_decay=0.0, momentum=0.0)
    target = np.full(10, 9, np.float32)
    task.tensors["rule/target"] = target
    rule = _Watching()
    result = train(task, context, rule=rule)
    assert rule.calls == ["start", "loss0", "gradients0", "loss1", "gradients1", "finish2"]
    np.testing.assert_array_equal(result.tensors["1.weight"], task.tensors["1.weight"])
    before = np.abs(task.tensors["3.bias"] - target).mean()
    assert np.abs(result.tensors["3.bias"] - target).mean() < 0.7 * before
    np.testing.assert_array_equal(result.tensors["rule/steps"], [2])


def test_reported_loss_leaves_out_what_the_rule_adds() -> None:
    class Adding(LocalRule):
        def extra_loss(
            self, model: nn.Module, images: Tensor, outputs: Tensor, step: int
        ) -> Tensor | None:
            return torch.tensor(1000.0)

    context = context_of("tiny-mlp")
    task = task_of(context)
    assert train(task, context, rule=Adding()).loss == train(task, context).loss


def test_lenet_learns_the_generated_data_quickly() -> None:
    everything = [np.arange(len(TINY.train_labels))]
    context = TrainingContext(TINY, everything, models.build("lenet5", (1, 28, 28), 10, seed=0))
    start = evaluate(models.export_weights(context.module), context)
    result = train(task_of(context, epochs=1, learning_rate=0.01, batch_size=20), context)
    end = evaluate(result.tensors, context)
    assert start.accuracy < 0.3
    assert end.accuracy > 0.9
    assert end.loss < 0.5


def test_evaluation_does_not_disturb_training_that_follows() -> None:
    context = context_of()
    task = task_of(context)
    first = train(task, context)
    evaluate(first.tensors, context)
    second = train(task, context)
    assert np.array_equal(first.tensors["conv1.weight"], second.tensors["conv1.weight"])


def test_samples_are_normalised_and_forgotten_oldest_first() -> None:
    one_client = 64 * (784 * 4 + 8)
    context = context_of(cached_bytes=2 * one_client)
    images, labels = context.samples(0)
    raw = TINY.train_inputs[PARTITION[0]] / 255
    expected = (raw - TINY.mean[0]) / TINY.std[0]
    np.testing.assert_allclose(images.numpy(), expected, atol=1e-5)
    np.testing.assert_array_equal(labels.numpy(), TINY.train_labels[PARTITION[0]])
    context.samples(1)
    assert context.samples(0)[0] is images
    context.samples(2)  # makes room by forgetting client 1, used longest ago
    assert context.samples(0)[0] is images
    context.samples(1)
    context.samples(2)
    assert context.samples(0)[0] is not images


@pytest.mark.parametrize(
    ("restriction", "classes"), [({}, 10), ({"classes": None}, 10), ({"classes": 9}, 9)]
)
def test_context_is_read_from_the_run_directory(
    tmp_path: Path, restriction: dict[str, int | None], classes: int
) -> None:
    settings = {
        "dataset": "tiny",
        "data_dir": None,
        "model": "lenet5",
        "partition": "partition.npz",
        "seed": 3,
        **restriction,
    }
    (tmp_path / "learning.json").write_text(json.dumps(settings))
    many = partitions.make("iid", TINY.train_labels, 12, 20, None, 0)
    named = {f"client{i}": part for i, part in enumerate(many, 1)}
    np.savez(tmp_path / "partition.npz", allow_pickle=False, **named)
    context = TrainingContext.load(tmp_path)
    assert len(context.partition) == 12
    np.testing.assert_array_equal(context.partition[11], many[11])
    expected = models.export_weights(models.build("lenet5", (1, 28, 28), classes, seed=3))
    exported = models.export_weights(context.module)
    assert list(exported) == list(expected)
    assert all(np.array_equal(exported[name], array) for name, array in expected.items())
    assert context.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_samples_of_a_restricted_set_are_those_its_labels_belong_to() -> None:
    some = datasets.load("tiny", None, classes=3)
    module = models.build("tiny-mlp", some.shape, some.classes, seed=0)
    context = TrainingContext(some, [np.array([5, 0, 9])], module)
    images, labels = context.samples(0)
    rows = np.flatnonzero(TINY.train_labels < 3)[[5, 0, 9]]
    np.testing.assert_array_equal(labels.numpy(), TINY.train_labels[rows])
    expected = context.normalised(TINY.train_inputs[rows])
    assert torch.equal(images, expected)
    assert train(replace(task_of(context), epochs=1), context).steps == 1
