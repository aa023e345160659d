"""LeNet-5 in C (lenet5.c, beside this file): plain SGD and inference, faster than with torch."""

import ctypes
import math
from typing import Any

import torch
from torch import Tensor, nn

from contracts.training import Task
from learning.models.lenet import LeNet5
from learning.models.registry import Shape
from learning.training.compiled_c import compiled_library

_MOST_CLASSES = 64  # array sizes in lenet5.c
_MOST_CHANNELS = 3


def can_train(module: nn.Module, shape: Shape, classes: int) -> bool:
    """Return whether this model, for such images, can be trained in C on this machine."""
    if not isinstance(module, LeNet5):
        return False
    channels, size, _ = shape
    fits = channels <= _MOST_CHANNELS and size in (28, 32) and classes <= _MOST_CLASSES
    return fits and compiled_library("lenet5") is not None


@torch.no_grad()
def train(module: nn.Module, images: Tensor, labels: Tensor, order: Tensor, task: Task) -> float:
    """Train in place in `order`, one row per epoch; return the mean loss of the last epoch."""
    run = _function("lenet5_train")
    run.restype = ctypes.c_double
    parameters, flat = _flat(module)
    images, labels, order = images.contiguous(), labels.contiguous(), order.contiguous()
    before = flat[-1].item()
    loss = run(
        _pointer(flat),
        *_shape(images, parameters),
        *(_pointer(tensor) for tensor in (images, labels, order)),
        *(ctypes.c_int64(n) for n in (order.shape[1], len(order), task.batch_size)),
        *(ctypes.c_float(x) for x in (task.learning_rate, task.momentum, task.weight_decay)),
    )
    if math.isnan(loss) and flat[-1].item() == before:
        raise MemoryError("a batch of LeNet-5 does not fit into memory")
    parts = flat.split([parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.copy_(part.view_as(parameter))
    return float(loss)


@torch.no_grad()
def classify(module: nn.Module, images: Tensor) -> Tensor:
    """Return the model's outputs, one row per image."""
    parameters, flat = _flat(module)
    images = images.contiguous()
    outputs = torch.empty(len(images), parameters[-1].numel())
    run = _function("lenet5_classify")
    count = ctypes.c_int64(len(images))
    shape = _shape(images, parameters)
    if run(_pointer(flat), *shape, _pointer(images), count, _pointer(outputs)):
        raise MemoryError("an image for LeNet-5 does not fit into memory")
    return outputs


def _function(name: str) -> Any:
    native = compiled_library("lenet5")
    assert native is not None
    return getattr(native, name)


def _flat(module: nn.Module) -> tuple[list[nn.Parameter], Tensor]:
    """Return the parameters, and a copy of all their values in one vector."""
    parameters = list(module.parameters())
    return parameters, torch.cat([parameter.flatten() for parameter in parameters])


def _shape(images: Tensor, parameters: list[nn.Parameter]) -> list[ctypes.c_int]:
    """Return channels, size and classes as C integers."""
    return [ctypes.c_int(n) for n in (*images.shape[1:3], parameters[-1].numel())]


def _pointer(tensor: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(tensor.data_ptr())
