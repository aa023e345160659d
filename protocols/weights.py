"""A model's weights as one long vector, for methods that look at directions and distances."""

import math

import numpy as np

from protocols.base import Tensors

# What batch normalisation counts is part of the model that travels, but it is no weight.
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def is_weight(name: str) -> bool:
    """Whether training changes that tensor of a model by gradients."""
    return not name.endswith(_STATISTICS)


def difference(model: Tensors, reference: Tensors) -> Tensors:
    """The weights of `model` minus those of `reference`, in double precision."""
    return {
        name: np.subtract(tensor, reference[name], dtype=np.float64)
        for name, tensor in model.items()
        if is_weight(name)
    }


def zeros(model: Tensors) -> Tensors:
    """A zero for every weight of the model."""
    return {name: np.zeros_like(tensor) for name, tensor in model.items() if is_weight(name)}


def add_prefix(prefix: str, tensors: Tensors) -> Tensors:
    """The same tensors with longer names: how a second set travels beside a model."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


def take_prefixed(prefix: str, tensors: Tensors) -> Tensors:
    """Those that were put under the prefix, by their own names."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def dot(one: Tensors, other: Tensors) -> float:
    """The scalar product of two vectors of tensors."""
    return math.fsum(float(np.vdot(tensor, other[name])) for name, tensor in one.items())


def norm(vector: Tensors) -> float:
    """The Euclidean length of a vector of tensors."""
    return math.sqrt(dot(vector, vector))
