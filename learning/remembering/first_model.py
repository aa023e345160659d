"""The model that a run begins with; where it was built before, planning needs no torch."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contracts.messages import Kind
from learning.models.registry import Shape
from learning.remembering.engine import unchanged
from learning.remembering.names import of_first_model
from learning.remembering.store import Store, StoreTrouble, place
from protocols.wire import Message

_ENGINE = "engine"


@dataclass(frozen=True)
class FirstModel:
    """The weights that follow from a model and a seed, and the engine that will train them."""

    weights: Mapping[str, np.ndarray]
    engine: str  # of plain local training: "lenet5.c" or "torch"


def first_model(model: str, shape: Shape, classes: int, seed: int, remember: bool) -> FirstModel:
    """Return a run's first model, for samples of this shape and so many classes.

    Trouble with the store is left to those who train to tell.
    """
    if not remember:
        return _built(model, shape, classes, seed)
    name = of_first_model(model, shape, classes, seed)
    with contextlib.suppress(StoreTrouble):
        known = Store(place()).get(name)
        if known is not None and _ENGINE in known.meta:
            return FirstModel(known.tensors, known.meta[_ENGINE])
    made = _built(model, shape, classes, seed)
    if unchanged():
        kept = Message(Kind.INITIAL, "metronome", 0, {_ENGINE: made.engine}, dict(made.weights))
        with contextlib.suppress(StoreTrouble):
            Store(place()).put(name, kept)
    return made


def _built(model: str, shape: Shape, classes: int, seed: int) -> FirstModel:
    import torch

    from learning.models import registry as models
    from learning.training import lenet_in_c

    module = models.build(model, shape, classes, seed)
    in_c = lenet_in_c.can_train(module, shape, classes) and not torch.cuda.is_available()
    return FirstModel(models.export_weights(module), "lenet5.c" if in_c else "torch")
