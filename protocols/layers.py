"""Access to the outputs of a model's layers, in the order in which the layers run.

A layer is a module without submodules that has parameters of its own: convolutions, linear layers,
and also BatchNorm. Layers are numbered from 0 in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn


@contextmanager
def observe_layers(module: nn.Module, on_output: Callable[[int, Tensor], None]) -> Iterator[None]:
    """Call `on_output` with each layer's number and output during forward passes in this block."""
    number = 0

    def begin(*_: object) -> None:
        nonlocal number
        number = 0

    def tell(_module: nn.Module, _inputs: object, output: Any) -> None:
        nonlocal number
        number += 1
        while isinstance(output, tuple):  # a recurrent layer's state comes after its output
            output = output[0]
        on_output(number - 1, output)

    hooks = [module.register_forward_pre_hook(begin)]
    hooks += [layer.register_forward_hook(tell) for layer in _layers(module)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def representation(module: nn.Module, images: Tensor, layer: int) -> Tensor:
    """Return that layer's output for the images, without running the layers after it."""

    def stop(number: int, output: Tensor) -> None:
        if number == layer:
            raise _Reached(output)

    with observe_layers(module, stop):
        try:
            module(images)
        except _Reached as reached:
            return reached.output
    raise ValueError(f"the model has no layer {layer}")


class _Reached(Exception):
    """Ends a forward pass at the wanted layer."""

    def __init__(self, output: Tensor) -> None:
        super().__init__()
        self.output = output


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    for part in module.modules():
        whole = next(part.children(), None) is None
        if whole and next(part.parameters(recurse=False), None) is not None:
            yield part
