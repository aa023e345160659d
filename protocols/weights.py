"""Vector arithmetic on a model's weights, for methods that use directions and distances."""

import math

import numpy as np

from protocols.base import Tensors

# BatchNorm's statistics are part of the model that is sent, but they are not weights.
_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def is_weight(name: str) -> bool:
    """Return whether training changes this tensor by gradients."""
    return not name.endswith(_STATISTICS)


def difference(model: Tensors, reference: Tensors) -> Tensors:
    """Return the weights of `model` minus those of `reference`, in double precision."""
    return {
        name: np.subtract(tensor, reference[name], dtype=np.float64)
        for name, tensor in model.items()
        if is_weight(name)
    }


def zeros(model: Tensors) -> Tensors:
    """Return zeros in the shape of the model's weights."""
    return {name: np.zeros_like(tensor) for name, tensor in model.items() if is_weight(name)}


def add_prefix(prefix: str, tensors: Tensors) -> Tensors:
    """Prefix the tensors' names, so that they can be sent together with a model."""
    return {prefix + name: tensor for name, tensor in tensors.items()}


def take_prefixed(prefix: str, tensors: Tensors) -> Tensors:
    """Select the tensors whose names have the prefix, and remove it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def dot(one: Tensors, other: Tensors) -> float:
    """Return the scalar product of two sets of tensors, each taken as one vector."""
    return math.fsum(float(np.vdot(tensor, other[name])) for name, tensor in one.items())


def norm(vector: Tensors) -> float:
    """Return the Euclidean norm of a set of tensors, taken as one vector."""
    return math.sqrt(dot(vector, vector))
