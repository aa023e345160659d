"""FedRL (Wang, Wang and Pei, ICMLC 2024): clients review the global model, one layer a batch.

Algorithm 1, local training: with every batch, layer m of the frozen global model w^t and of the
local model w_i^t put out kr_m and kr_(i,m), for the whole batch and before pooling and activation;
their distance enters the loss (eq. 2). m starts at 0 in every local training, advances by one with
every batch, and wraps at M, the number of layers with parameters (BatchNorm counts as one: see
protocols.layers). The server averages like FedAvg's; with mu = 0 all of it is FedAvg, to the bit.
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
    """Beside FedAvg's: mu, the weight of the review."""

    mu: float = 0.001


class Client(fedprox.Client):
    """FedAvg's, but for the review."""

    rule = "fedrl"


class LocalRule(local_rules.LocalRule):
    """Lines 18-26 of Algorithm 1."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._mu: float = settings["mu"]
        self._kr_i: list[Tensor] = []  # what each layer of the local model made of this batch

    @contextmanager
    def attached_to(self, module: nn.Module) -> Iterator[None]:
        # In training mode like the local one: BatchNorm takes the batch's own statistics in both.
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
        # At a distance of 0, as in the first batch, its gradient is 0 as well.
        distance: Tensor = torch.linalg.vector_norm(kr - self._kr_i[m])
        return self._mu / 2 * distance


def extra_flops(costs: StepCosts) -> list[float]:
    """Step m: the global model's first layers forward; the difference, its norm and gradient.

    Five operations a number: subtract, square, add; in the gradient scale, add. The way back
    through the local model is taken anyhow, for the cross entropy.
    """
    return [
        float(forward + 5 * numbers)
        for forward, numbers in zip(costs.forward, costs.representations, strict=True)
    ]
