"""The registry of models: build a model by name, and read and set its weights as named arrays.

Importing this module does not import torch, so checking a name is fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from contracts.errors import BadInput
from contracts.plugins import Plugin
from contracts.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape = tuple[int, ...]  # of one sample: (channels, height, width), (numbers,) or (tokens,)
Factory = Callable[[Shape, int], "nn.Module"]  # from a sample's shape and the number of classes


def _of_images(module: str, kind: str) -> Factory:
    """Return the factory of a model for square images; its module is imported on first use."""

    def make(shape: Shape, classes: int) -> nn.Module:
        channels, size, _ = shape
        found: nn.Module = getattr(import_module(module), kind)(channels, size, classes)
        return found

    return make


def _tiny_mlp(shape: Shape, classes: int) -> nn.Module:
    from torch import nn

    inputs = math.prod(shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, classes))


_IMAGE_MODELS = {
    "fedrl-cnn": _of_images("learning.models.fedrl_cnn", "FedRLCNN"),
    "fsl-cifar-cnn": _of_images("learning.models.fsl_cnn", "FslCifarCNN"),
    "fsl-emnist-cnn": _of_images("learning.models.fsl_cnn", "FslEmnistCNN"),
    "lenet5": _of_images("learning.models.lenet", "LeNet5"),
    "multicell-cnn": _of_images("learning.models.multicell_cnn", "MulticellCNN"),
    "resnet18": _of_images("learning.models.resnet", "ResNet18"),
    "resnet50": _of_images("learning.models.resnet", "ResNet50"),
}
MODELS: Registry[Factory] = Registry("MODELS", {**_IMAGE_MODELS, "tiny-mlp": _tiny_mlp})


def check(name: str, shape: Shape | None = None) -> None:
    """Raise BadInput if the model is unknown or does not take samples of this shape."""
    MODELS.check(name, "task.model")
    if shape is None or name not in _IMAGE_MODELS:
        return
    if len(shape) != 3 or shape[1] != shape[2]:
        raise BadInput(
            f"task.model: {name} takes square images, and this data set's samples have the shape"
            f" {'x'.join(map(str, shape))}; take tiny-mlp, or bring a model of your own (--plugin)"
        )
    if name == "lenet5" and shape[1] not in (28, 32):
        raise BadInput(
            f"task.model: lenet5 takes images of 28x28 or 32x32, and this data set's are"
            f" {shape[1]}x{shape[2]}; take resnet18"
        )


def build(name: str, shape: Shape, classes: int, seed: int) -> nn.Module:
    """Build the model, with initial weights that depend only on the seed."""
    check(name, shape)
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        plugin = MODELS.plugin(name)
        if plugin is None:
            return MODELS[name](shape, classes)
        return _of_plugin(plugin, name, shape, classes)


def _of_plugin(plugin: Plugin, name: str, shape: Shape, classes: int) -> nn.Module:
    """Call a plug-in's factory; BadInput says where if it makes no model."""
    from torch import nn

    try:
        made = MODELS[name](shape, classes)
    except Exception as error:
        raise BadInput(
            f'{plugin.blame(error, "MODELS", name)}: model "{name}" cannot be made for samples of'
            f" shape {shape} and {classes} classes ({type(error).__name__}: {error}); correct it"
        ) from error
    if not isinstance(made, nn.Module) or not any(True for _ in made.parameters()):
        what = "has no weights" if isinstance(made, nn.Module) else f"is a {type(made).__name__}"
        raise BadInput(
            f'{plugin.place("MODELS", name)}: model "{name}" {what}; its factory must return a'
            " torch.nn.Module that can be trained"
        )
    return made


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
