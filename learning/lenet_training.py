"""Plain local training of LeNet-5 by learning/lenet5.c, some three times as fast as by torch."""

import ctypes
import math

import torch
from torch import Tensor, nn

from learning.lenet import LeNet5
from learning.native import library
from learning.seam import Task

_MOST_CLASSES = 64  # the sizes of arrays in lenet5.c
_MOST_CHANNELS = 3


def can_train(module: nn.Module, channels: int, size: int, classes: int) -> bool:
    """Whether this model, for such images, can be trained that way on this machine."""
    if not isinstance(module, LeNet5):
        return False
    fits = channels <= _MOST_CHANNELS and size in (28, 32) and classes <= _MOST_CLASSES
    return fits and library("lenet5") is not None


@torch.no_grad()
def train(module: nn.Module, images: Tensor, labels: Tensor, order: Tensor, task: Task) -> float:
    """Train in place over the samples in `order`, a row an epoch; the last epoch's mean loss."""
    native = library("lenet5")
    assert native is not None
    run = native.lenet5_train
    run.restype = ctypes.c_double
    parameters = list(module.parameters())
    flat = torch.cat([parameter.flatten() for parameter in parameters])
    images, labels, order = images.contiguous(), labels.contiguous(), order.contiguous()
    before = flat[-1].item()
    loss = run(
        _pointer(flat),
        *(ctypes.c_int(n) for n in (images.shape[1], images.shape[2], parameters[-1].numel())),
        *(_pointer(tensor) for tensor in (images, labels, order)),
        *(ctypes.c_int64(n) for n in (len(labels), len(order), task.batch_size)),
        *(ctypes.c_float(x) for x in (task.learning_rate, task.momentum, task.weight_decay)),
    )
    if math.isnan(loss) and flat[-1].item() == before:
        raise MemoryError("a batch of LeNet-5 does not fit into memory")
    parts = flat.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.copy_(part.view_as(parameter))
    return float(loss)


def _pointer(tensor: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())
