"""Scores on the test set: over all, and class by class from the same pass."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from learning.data import datasets
from learning.data.dataset import Dataset
from learning.evaluation import scores
from learning.evaluation.scores import evaluate
from learning.models import registry as models
from learning.training.context import TrainingContext

TINY = datasets.load("tiny", None)


def _context(dataset: Dataset) -> TrainingContext:
    module = models.build("tiny-mlp", dataset.shape, dataset.classes, seed=2)
    return TrainingContext(dataset, [np.arange(4)], module)


def _predictions(context: TrainingContext) -> np.ndarray:
    with torch.no_grad():
        outputs = context.module(context.normalised(context.dataset.test_inputs[:]))
    predicted: np.ndarray = outputs.argmax(1).numpy()
    return predicted


@pytest.mark.parametrize("classes", [10, 7])
def test_scores_are_those_of_every_class_and_of_all(classes: int) -> None:
    context = _context(datasets.load("tiny", None, classes=classes))
    labels = context.dataset.test_labels
    right = _predictions(context) == labels
    scores = evaluate(models.export_weights(context.module), context)
    assert scores.accuracy == right.mean()
    assert scores.by_class == [right[labels == label].mean() for label in range(classes)]
    assert 0 < scores.loss < 10


def test_a_class_without_test_samples_has_no_accuracy() -> None:
    kept = TINY.test_labels != 4
    without = replace(TINY, test_inputs=TINY.test_inputs[kept], test_labels=TINY.test_labels[kept])
    context = _context(without)
    by_class = evaluate(models.export_weights(context.module), context).by_class
    assert [label for label, accuracy in enumerate(by_class) if accuracy is None] == [4]
    assert len(by_class) == 10


def test_every_test_sample_is_seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Counting(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            seen.append(len(x))
            return super().forward(x.flatten(1))

    monkeypatch.setattr(scores, "_BATCH", 150)
    context = TrainingContext(TINY, [np.arange(4)], Counting(784, 10))
    evaluate(models.export_weights(context.module), context)
    assert seen == [150, 150, 150, 50]
