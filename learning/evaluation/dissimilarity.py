"""Distance of the server's and clients' gradients from the common one (FSL, B-B3 and Fig. 9).

xi_t^2 = |grad f_0(x_t) - grad F(x_t)|^2 and G_t^2 = 1/N sum_i |grad f_i(x_t) - grad F(x_t)|^2, with
F = sum_i p_i f_i and p_i = n_i / n; full gradients, without dropout.
"""

from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from contracts.training import SERVER
from learning.evaluation.figures import Dissimilarity
from learning.models.registry import load_weights
from learning.training.context import TrainingContext

_BATCH = 500


def measure_dissimilarity(
    tensors: Mapping[str, np.ndarray], context: TrainingContext
) -> Dissimilarity:
    """Measure at these weights, over all clients, keeping only sums of gradients in memory."""
    load_weights(context.module, tensors)
    context.module.eval()
    total = sum(len(part) for part in context.partition)
    clients = len(context.partition)
    mean: Tensor | float = 0.0  # 1/N sum grad f_i
    common: Tensor | float = 0.0  # grad F
    square = 0.0  # 1/N sum |grad f_i|^2
    for client, part in enumerate(context.partition):
        own = full_gradient(context.module, *context.samples(client))
        mean = mean + own / clients
        common = common + own * (len(part) / total)
        square += float(own @ own) / clients
    assert isinstance(mean, Tensor) and isinstance(common, Tensor)
    # The squared differences, expanded; rounding may leave a value slightly below 0.
    g_squared = square - 2 * float(mean @ common) + float(common @ common)
    g_squared = 0.0 if g_squared < 0 else g_squared  # NaN stays NaN
    xi_squared = None
    if context.has_server_samples:
        apart = full_gradient(context.module, *context.samples(SERVER)) - common
        xi_squared = float(apart @ apart)
    return Dissimilarity(xi_squared, g_squared)


def full_gradient(module: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    """Return the gradient of the samples' mean cross entropy as one float64 vector."""
    module.zero_grad(set_to_none=True)
    for some, named in zip(images.split(_BATCH), labels.split(_BATCH), strict=True):
        F.cross_entropy(module(some), named, reduction="sum").backward()
    found = [parameter.grad for parameter in module.parameters()]
    row = torch.cat([part.flatten().double() for part in found if part is not None])
    module.zero_grad(set_to_none=True)
    return row / len(labels)
