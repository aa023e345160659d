"""Samples that come with a task, such as those a server shared with its clients (method DS)."""

import torch
from torch import Tensor

from contracts.training import EXTRA_IMAGES, EXTRA_LABELS, Task
from learning.training.context import TrainingContext


def own_and_extra(task: Task, context: TrainingContext) -> tuple[Tensor, Tensor]:
    """Return the client's own samples, then the task's; raise ValueError if these do not fit."""
    own_images, own_labels = context.samples(task.client)
    if EXTRA_IMAGES not in task.tensors:
        return own_images, own_labels
    images, labels = task.tensors[EXTRA_IMAGES], task.tensors[EXTRA_LABELS]
    wanted = (len(labels), *own_images.shape[1:])
    if images.shape != wanted or images.dtype != "uint8":
        raise ValueError(f"the shared images are {images.dtype}{images.shape}, not uint8{wanted}")
    classes = context.dataset.classes
    if labels.ndim != 1 or labels.dtype != "int64" or (labels // classes).any():
        raise ValueError(f"the shared labels are not a row of int64 below {classes}")
    extra_labels = torch.tensor(labels, device=context.device)
    return (
        torch.cat([own_images, context.normalised(images)]),
        torch.cat([own_labels, extra_labels]),
    )
