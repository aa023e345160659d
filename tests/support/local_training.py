"""Local training on the generated data set, for tests of what methods change about it."""

from dataclasses import replace
from typing import Any

import torch

from contracts.training import Task
from learning.data import datasets, partitions
from learning.models import registry as models
from learning.training.context import TrainingContext

torch.set_num_threads(1)  # as in the workers

CLIENTS = 4
TINY = datasets.load("tiny", None)
PARTITION = partitions.make("iid", TINY.train_labels, CLIENTS, 64, None, 0)


def context_of(model: str = "lenet5", **options: Any) -> TrainingContext:
    """Return a context with four clients of 64 samples each."""
    module = models.build(model, TINY.shape, TINY.classes, seed=3)
    return TrainingContext(TINY, PARTITION, module, **options)


def task_of(context: TrainingContext, **changes: Any) -> Task:
    """Return a task of two epochs of seven batches, starting from the context's weights."""
    task = Task(
        job="client0-r0",
        client=0,
        epochs=2,
        batch_size=10,
        learning_rate=0.02,
        momentum=0.9,
        weight_decay=1e-3,
        shuffle=True,
        seed=11,
        rule="",
        settings={},
        tensors=models.export_weights(context.module),
    )
    return replace(task, **changes)
