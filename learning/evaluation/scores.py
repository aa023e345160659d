"""Accuracy and loss of a model on the whole test set."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from learning.evaluation.figures import Scores
from learning.models.registry import load_weights
from learning.training import lenet_in_c
from learning.training.context import TrainingContext

_BATCH = 500


def evaluate(tensors: Mapping[str, np.ndarray], context: TrainingContext) -> Scores:
    """Evaluate these weights on the test set, overall and class by class."""
    module, dataset = context.module, context.dataset
    load_weights(module, tensors)
    module.eval()
    classify = partial(lenet_in_c.classify, module) if context.trains_in_c else module
    hits, loss = [], 0.0
    with torch.inference_mode():
        for start in range(0, len(dataset.test_labels), _BATCH):
            part = slice(start, start + _BATCH)
            labels = torch.tensor(dataset.test_labels[part], device=context.device)
            outputs = classify(context.normalised(dataset.test_inputs[part]))
            hits.append((outputs.argmax(1) == labels).cpu().numpy())
            loss += float(F.cross_entropy(outputs, labels, reduction="sum"))
    right = np.concatenate(hits)
    return Scores(
        accuracy=int(right.sum()) / len(right),
        loss=loss / len(right),
        by_class=_by_class(right, dataset.test_labels, dataset.classes),
    )


def _by_class(right: np.ndarray, labels: np.ndarray, classes: int) -> list[float | None]:
    there = np.bincount(labels, minlength=classes)
    known = np.bincount(labels[right], minlength=classes)
    return [int(k) / int(n) if n else None for k, n in zip(known, there, strict=True)]
