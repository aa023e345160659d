"""Accuracy and loss of a model on the whole test set."""

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F

from learning.context import Context
from learning.models import load_weights

_BATCH = 500


def evaluate(tensors: Mapping[str, np.ndarray], context: Context) -> tuple[float, float]:
    """The share of test samples classified rightly, and their mean cross entropy."""
    module, dataset = context.module, context.dataset
    load_weights(module, tensors)
    module.eval()
    right, loss = 0, 0.0
    with torch.inference_mode():
        for start in range(0, len(dataset.test_labels), _BATCH):
            part = slice(start, start + _BATCH)
            labels = torch.tensor(dataset.test_labels[part], device=context.device)
            outputs = module(context.normalised(dataset.test_images[part]))
            right += int((outputs.argmax(1) == labels).sum())
            loss += float(F.cross_entropy(outputs, labels, reduction="sum"))
    return right / len(dataset.test_labels), loss / len(dataset.test_labels)
