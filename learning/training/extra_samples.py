"""Samples that come with a task, such as those a server shared with its clients (method DS)."""

import torch
from torch import Tensor

from contracts.training import EXTRA_IMAGES, EXTRA_LABELS, Task
from learning.training.context import TrainingContext


def own_and_extra(task: Task, context: TrainingContext) -> tuple[Tensor, Tensor]:
    """Return the client's own samples, then the task's; raise ValueError if these do not fit."""
    own_inputs, own_labels = context.samples(task.client)
    if EXTRA_IMAGES not in task.tensors:
        return own_inputs, own_labels
    inputs, labels = task.tensors[EXTRA_IMAGES], task.tensors[EXTRA_LABELS]
    wanted, kind = (len(labels), *own_inputs.shape[1:]), context.dataset.train_inputs.dtype
    if inputs.shape != wanted or inputs.dtype != kind:
        raise ValueError(f"the shared inputs are {inputs.dtype}{inputs.shape}, not {kind}{wanted}")
    classes = context.dataset.classes
    if labels.ndim != 1 or labels.dtype != "int64" or (labels // classes).any():
        raise ValueError(f"the shared labels are not a row of int64 below {classes}")
    extra_labels = torch.tensor(labels, device=context.device)
    return (
        torch.cat([own_inputs, context.normalised(inputs)]),
        torch.cat([own_labels, extra_labels]),
    )
