"""The registry of models: build a model by name, and read and set its weights as named arrays.

Importing this module does not import torch, so checking a name is fast.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from contracts.errors import BadInput

if TYPE_CHECKING:
    from torch import Tensor, nn

NAMES = (
    *("fedrl-cnn", "fsl-cifar-cnn", "fsl-emnist-cnn", "lenet5", "multicell-cnn"),
    *("resnet18", "resnet50", "tiny-mlp"),
)


def check(name: str, size: int | None = None) -> None:
    """Raise BadInput if the model is unknown or does not take images of this size."""
    if name not in NAMES:
        close = difflib.get_close_matches(name.lower(), NAMES, 1)
        hint = f'did you mean "{close[0]}"? ' if close else ""
        raise BadInput(f'task.model: unknown model "{name}"; {hint}(there are {", ".join(NAMES)})')
    if name == "lenet5" and size not in (None, 28, 32):
        raise BadInput(
            f"task.model: lenet5 takes images of 28x28 or 32x32, and this data set's are"
            f" {size}x{size}; take resnet18"
        )


def build(name: str, channels: int, size: int, classes: int, seed: int) -> nn.Module:
    """Build the model, with initial weights that depend only on the seed."""
    check(name, size)
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _construct(name, channels, size, classes)


def _construct(name: str, channels: int, size: int, classes: int) -> nn.Module:
    if name == "fedrl-cnn":
        from learning.models.fedrl_cnn import FedRLCNN

        return FedRLCNN(channels, size, classes)
    if name == "lenet5":
        from learning.models.lenet import LeNet5

        return LeNet5(channels, size, classes)
    if name in ("fsl-emnist-cnn", "fsl-cifar-cnn"):
        from learning.models.fsl_cnn import FslCifarCNN, FslEmnistCNN

        kind = FslEmnistCNN if name == "fsl-emnist-cnn" else FslCifarCNN
        return kind(channels, size, classes)
    if name == "multicell-cnn":
        from learning.models.multicell_cnn import MulticellCNN

        return MulticellCNN(channels, size, classes)
    if name == "resnet18":
        from learning.models.resnet import ResNet18

        return ResNet18(channels, classes)
    if name == "resnet50":
        from learning.models.resnet import ResNet50

        return ResNet50(channels, classes)
    from torch import nn

    inputs = channels * size * size
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, classes))


def named_weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield what federated methods average: parameters and float buffers in state_dict order."""
    for name, tensor in module.state_dict().items():
        if tensor.is_floating_point():  # leaves out BatchNorm's num_batches_tracked
            yield name, tensor


def export_weights(module: nn.Module) -> dict[str, np.ndarray]:
    """Return copies of the weights, which later training does not change."""
    return {name: tensor.cpu().numpy().copy() for name, tensor in named_weights(module)}


def load_weights(module: nn.Module, tensors: Mapping[str, np.ndarray]) -> None:
    """Copy the arrays into the module, ignoring names that the module does not have."""
    import torch

    for name, tensor in named_weights(module):
        if tensors[name].shape != tuple(tensor.shape):
            raise ValueError(f"{name} has shape {tensors[name].shape}, not {tuple(tensor.shape)}")
        # torch.tensor copies, so read-only arrays (views on a received frame) are fine.
        tensor.copy_(torch.tensor(tensors[name]))
