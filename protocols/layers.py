"""A model seen layer by layer, as it is run: what each layer with parameters puts out.

A layer is a module without submodules that has parameters of its own: convolutions, linear layers,
and BatchNorm too. Layers count from 0 in the order they are run, not in that of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn


@contextmanager
def observe_layers(module: nn.Module, heard: Callable[[int, Tensor], None]) -> Iterator[None]:
    """Meanwhile every forward pass tells `heard` each layer's number and output as it is made."""
    number = 0

    def begin(*_: object) -> None:
        nonlocal number
        number = 0

    def tell(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        nonlocal number
        number += 1
        heard(number - 1, output)

    taps = [module.register_forward_pre_hook(begin)]
    taps += [layer.register_forward_hook(tell) for layer in _layers(module)]
    try:
        yield
    finally:
        for tap in taps:
            tap.remove()


def representation(module: nn.Module, images: Tensor, layer: int) -> Tensor:
    """What that layer makes of the images; the layers after it are not run."""

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
    """Ends a forward pass half-way."""

    def __init__(self, output: Tensor) -> None:
        super().__init__()
        self.output = output


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    for part in module.modules():
        whole = next(part.children(), None) is None
        if whole and next(part.parameters(recurse=False), None) is not None:
            yield part
