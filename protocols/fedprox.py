"""FedProx (Li et al., MLSys 2020): FedAvg with mu/2 |w - w^t|^2 added to the clients' loss.

The proximal term is applied as its gradient, mu (w - w^t). With mu = 0 the method is bit-identical
to FedAvg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from contracts.training import Task
from protocols import fedavg, local_rules
from protocols.base import Package, Work
from protocols.costs import StepCosts

if TYPE_CHECKING:
    from torch import Tensor, nn

Server = fedavg.Server


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """Adds mu, the weight of the proximal term."""

    mu: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mu < 0:
            raise ValueError("mu must not be negative (0 is FedAvg)")


class Client(fedavg.Client):
    """FedAvg's client with the proximal rule; mu = 0 needs no rule."""

    rule: ClassVar[str] = "fedprox"

    def work(self, package: Package) -> Work:
        work = super().work(package)
        if self.settings.mu > 0:
            work.rule, work.settings = self.rule, {"mu": self.settings.mu}
        return work


class LocalRule(local_rules.LocalRule):
    """Adds the gradient of the proximal term."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._mu: float = settings["mu"]
        self._global: list[Tensor] = []

    def start(self, parameters: Sequence[tuple[str, nn.Parameter]], task: Task) -> None:
        self._global = [w.detach().clone() for _, w in parameters]

    def adjust_gradients(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], step: int
    ) -> None:
        for (_, w), w_t in zip(named_parameters, self._global, strict=True):
            assert w.grad is not None
            w.grad.add_(w.detach() - w_t, alpha=self._mu)


def extra_flops(costs: StepCosts) -> list[float]:
    """One subtraction, multiplication and addition per parameter, in every step."""
    return [3.0 * costs.parameters]
