"""FedDyn (Acar et al. 2021): regularises each client dynamically, so that all optima agree.

A client adds -<h_i, w> + alpha/2 |w - w_t|^2 to its loss and then h_i -= alpha (w_i - w_t), which
it keeps. The server: h -= alpha/N sum over participants (w_i - w_t), model = mean(w_i) - h / alpha.
It sends as many bytes as FedAvg. h / alpha does not depend on alpha: as alpha -> 0, clients train
as under FedAvg, while the server still adds the sum of all past updates over N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.training import Result, Task
from protocols import fedavg, local_rules
from protocols.averaging import WeightedMean
from protocols.base import Package, Tensors, Work, sample_count
from protocols.costs import StepCosts
from protocols.weights import add_prefix, difference, take_prefixed, zeros

if TYPE_CHECKING:
    from torch import nn

STAR_ONLY = True
_KEPT = "h/"  # prefix of h beside the model


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """Adds alpha, which is .01 in the FSL paper."""

    alpha: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha <= 0:
            raise ValueError("alpha must be above 0")


class Server(fedavg.Server):
    """Holds h, and averages clients with equal weights."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self.h = {name: array.astype(float) for name, array in zeros(model).items()}

    def state_to_keep(self) -> Package:
        return Package({}, self.model | add_prefix(_KEPT, self.h))

    def restore_state(self, state: Package) -> None:
        self.model = {name: state.tensors[name] for name in self.model}
        self.h = {name: h.copy() for name, h in take_prefixed(_KEPT, state.tensors).items()}

    def add(self, child: str, package: Package) -> None:
        sample_count(package)  # refuses an update without one
        self._mean.add(package.tensors, 1)

    def finish(self) -> dict[str, Any]:
        participants, alpha = self._mean.weight, self.settings.alpha
        mean, before = self._mean.mean(), self.model
        moved = difference(self._mean.exact(), before)  # 1/|P| of the sum over participants
        for name in self.h:
            self.h[name] -= alpha / self.facts.clients * participants * moved[name]
        self.model = mean | {
            name: (mean[name] - h / alpha).astype(mean[name].dtype) for name, h in self.h.items()
        }
        self._mean = WeightedMean()
        return {}


class Client(fedavg.Client):
    """Holds h_i between rounds."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.h: Tensors = {}  # empty stands for zero

    def state_to_keep(self) -> Tensors:
        return self.h

    def restore_state(self, state: Tensors) -> None:
        self.h = state

    def work(self, package: Package) -> Work:
        self.h = self.h or zeros(package.tensors)
        work = super().work(package)
        work.rule, work.settings = "feddyn", {"alpha": self.settings.alpha}
        work.tensors = add_prefix(local_rules.PREFIX, self.h)
        return work

    def reply(self, package: Package, result: Result) -> Package:
        moved = difference(result.tensors, package.tensors)
        self.h = {
            name: (h - self.settings.alpha * moved[name]).astype(h.dtype)
            for name, h in self.h.items()
        }
        return super().reply(package, result)


def extra_flops(costs: StepCosts) -> list[float]:
    """Compute w - w_t, multiply by alpha, add to the gradient; subtract h_i."""
    return [4.0 * costs.parameters]


class LocalRule(local_rules.LocalRule):
    """The gradient of -<h_i, w> + alpha/2 |w - w_t|^2: alpha (w - w_t) - h_i."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._alpha = settings["alpha"]

    def start(self, parameters: Sequence[tuple[str, nn.Parameter]], task: Task) -> None:
        import torch

        own = take_prefixed(local_rules.PREFIX, task.tensors)
        self._begun = {name: parameter.detach().clone() for name, parameter in parameters}
        self._h = {
            name: torch.tensor(own[name], device=parameter.device) for name, parameter in parameters
        }

    def adjust_gradients(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], step: int
    ) -> None:
        for name, parameter in named_parameters:
            if parameter.grad is not None:
                drift = parameter.detach() - self._begun[name]
                parameter.grad.add_(drift, alpha=self._alpha).sub_(self._h[name])
