"""FedRL (Wang, Wang and Pei, ICMLC 2024): clients review the global model, one layer per batch.

Algorithm 1, local training: for every batch, kr_m and kr_(i,m) are the outputs of layer m of the
frozen global model w^t and of the local model w_i^t, for the whole batch, before pooling and
activation. Their distance is added to the loss (eq. 2). m starts at 0 in every local training,
advances by one with every batch, and wraps around at M, the number of layers with parameters
(BatchNorm counts as one: see protocols.layers). The server is FedAvg's. With mu = 0 the method is
bit-identical to FedAvg.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from protocols import fedavg, fedprox, layers, local_rules
from protocols.costs import StepCosts

if TYPE_CHECKING:
    from torch import Tensor, nn

Server = fedavg.Server


@dataclass(frozen=True)
class Settings(fedprox.Settings):
    """Adds mu, the weight of the review."""

    mu: float = 0.001


class Client(fedprox.Client):
    """FedAvg's client with the review as its rule."""

    rule = "fedrl"


class LocalRule(local_rules.LocalRule):
    """Lines 18-26 of Algorithm 1."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._mu: float = settings["mu"]
        self._kr_i: list[Tensor] = []  # each local layer's output for the current batch

    @contextmanager
    def attached_to(self, module: nn.Module) -> Iterator[None]:
        # In training mode like the local model, so BatchNorm uses the batch's statistics in both.
        self._global = copy.deepcopy(module)
        with layers.observe_layers(module, self._take):
            yield

    def _take(self, m: int, kr: Tensor) -> None:
        self._kr_i[m:] = [kr]

    def extra_loss(
        self, model: nn.Module, images: Tensor, outputs: Tensor, step: int
    ) -> Tensor | None:
        import torch

        m = step % len(self._kr_i)  # M
        with torch.no_grad():
            kr = layers.representation(self._global, images, m)
        # At a distance of 0, as in the first batch, the gradient is 0 as well.
        distance: Tensor = torch.linalg.vector_norm(kr - self._kr_i[m])
        return self._mu / 2 * distance


def extra_flops(costs: StepCosts) -> list[float]:
    """Step m: forward through the global model up to layer m; the norm and its gradient.

    The norm takes five operations per number: subtract, square, add; and in the gradient, scale and
    add. The backward pass through the local model is done for the cross entropy in any case.
    """
    return [
        float(forward + 5 * numbers)
        for forward, numbers in zip(costs.forward, costs.representations, strict=True)
    ]
