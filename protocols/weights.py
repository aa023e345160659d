"""A model's weights as one long vector, for methods that look at directions and distances."""

import math

import numpy as np

from protocols.base import Tensors

# What batch normalisation counts is part of the model that travels, but it is no weight.
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def difference(model: Tensors, reference: Tensors) -> Tensors:
    """The weights of `model` minus those of `reference`, in double precision."""
    return {
        name: np.subtract(tensor, reference[name], dtype=np.float64)
        for name, tensor in model.items()
        if not name.endswith(_STATISTICS)
    }


def dot(one: Tensors, other: Tensors) -> float:
    return math.fsum(float(np.vdot(tensor, other[name])) for name, tensor in one.items())


def norm(vector: Tensors) -> float:
    return math.sqrt(dot(vector, vector))
