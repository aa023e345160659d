"""FedRL (Wang, Wang and Pei, ICMLC 2024): clients review the global model, one layer per batch.

Algorithm 1, local training: for every batch, kr_m and kr_(i,m) are the outputs of layer m of the
frozen global model w^t and of the local model w_i^t, for the whole batch, before pooling and
activation. Their distance is added to the loss (eq. 2). m starts at 0 in every local training,
advances by one with every batch, and wraps around at M, the number of layers with parameters
(BatchNorm counts as one: see protocols.layers). The server is FedAvg's. With mu = 0 the method is
bit-identical to FedAvg.

The print leaves four things open. What is said above is the default; the settings have the others.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.messages import GLOBAL_ROUND
from protocols import fedavg, fedprox, layers, local_rules
from protocols.base import Package, Work
from protocols.costs import StepCosts

if TYPE_CHECKING:
    from torch import Tensor, nn

Server = fedavg.Server


@dataclass(frozen=True)
class Settings(fedprox.Settings):
    """Adds mu, the weight of the review, and how the print is read."""

    mu: float = 0.001
    activation: str = "before"  # or "after": what is compared is rectified, the logits excepted
    distance: str = "norm"  # of the whole batch; "mean" of the samples' norms; "square" of the norm
    cycle: str = "batch"  # or "round": layer (t - 1) mod M in all batches of global round t
    logits: bool = True  # whether the last layer is one of the M

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, values in _READINGS.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be {' or '.join(values)}")


_READINGS = {
    "activation": ("before", "after"),
    "distance": ("norm", "mean", "square"),
    "cycle": ("batch", "round"),
}


class Client(fedprox.Client):
    """FedAvg's client with the review as its rule."""

    rule = "fedrl"

    def work(self, package: Package) -> Work:
        work = super().work(package)
        if work.rule:
            for name in ("activation", "distance", "logits"):
                if (value := getattr(self.settings, name)) != getattr(Settings, name):
                    work.settings[name] = value
            if self.settings.cycle == "round":
                work.settings["round"] = package.meta[GLOBAL_ROUND]
        return work


class LocalRule(local_rules.LocalRule):
    """Lines 18-26 of Algorithm 1."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._mu: float = settings["mu"]
        self._after = settings.get("activation", Settings.activation) == "after"
        self._distance: str = settings.get("distance", Settings.distance)
        self._logits: bool = settings.get("logits", Settings.logits)
        self._round: int | None = settings.get("round")
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

        last = len(self._kr_i) - 1
        reviewed = last + 1 if self._logits else max(last, 1)  # M
        m = (step if self._round is None else self._round - 1) % reviewed
        with torch.no_grad():
            kr = layers.representation(self._global, images, m)
        kr_i = self._kr_i[m]
        if self._after and m < last:
            kr, kr_i = torch.relu(kr), torch.relu(kr_i)
        apart = kr - kr_i
        # At a distance of 0, as in the first batch, the gradient is 0 as well.
        if self._distance == "mean":
            distance: Tensor = torch.linalg.vector_norm(apart.flatten(1), dim=1).mean()
        elif self._distance == "square":
            distance = apart.square().sum()
        else:
            distance = torch.linalg.vector_norm(apart)
        return self._mu / 2 * distance


def extra_flops(costs: StepCosts) -> list[float]:
    """Step m: forward through the global model up to layer m; the norm and its gradient.

    This is for the default reading. The norm takes five operations per number: subtract, square,
    add; and in the gradient, scale and add. The backward pass through the local model is done for
    the cross entropy in any case.
    """
    return [
        float(forward + 5 * numbers)
        for forward, numbers in zip(costs.forward, costs.representations, strict=True)
    ]
