"""A model of two parameters whose gradients can be worked out by hand, and training on it.

Two classes, one input x, scores (w_1 x, w_2 x). At w = (0, 0) both have probability 1/2, so that
the gradient for a sample (x, class 0) is x (1/2 - 1, 1/2): (-1, 1) for x = 2.
"""

import numpy as np
import torch
from torch import nn

from contracts.training import Task
from learning.training.sgd import train_with_torch
from protocols.base import Tensors
from protocols.local_rules import LocalRule

X = 2.0
GRADIENT = (-1.0, 1.0)


def model(first: float, second: float) -> Tensors:
    return {"weight": np.array([[first], [second]], np.float32)}


def values(tensors: Tensors, name: str = "weight") -> list[float]:
    flat: list[float] = tensors[name].ravel().tolist()
    return flat


def trained(
    start: Tensors,
    rule: LocalRule | None,
    extras: Tensors | None = None,
    steps: int = 1,
) -> tuple[Tensors, Tensors]:
    """Train so many steps on the one sample; return the weights and what the rule sends."""
    module = nn.Linear(1, 2, bias=False)
    module.weight.data.copy_(torch.tensor(start["weight"]))
    task = Task(
        job="client1-1",
        client=0,
        epochs=steps,
        batch_size=1,
        learning_rate=0.1,
        momentum=0.0,
        weight_decay=0.0,
        shuffle=False,
        seed=1,
        rule="",
        settings={},
        tensors=start | (extras or {}),
    )
    order = torch.zeros(steps, 1, dtype=torch.int64)
    images, labels = torch.tensor([[X]]), torch.tensor([0])
    _, sent = train_with_torch(module, images, labels, order, task, rule)
    return {"weight": module.weight.detach().numpy().copy()}, sent
