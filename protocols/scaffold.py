"""SCAFFOLD (Karimireddy et al. 2020, algorithm 1, option II): control variates against drift.

The server sends x and c. A client takes steps y -= eta_l (g(y) - c_i + c) and then sets
c_i+ = c_i - c + (x - y_i) / (K eta_l). It sends y_i and c_i+ - c_i. In both directions, that is
twice what FedAvg sends. The server: x += eta_g mean(y_i - x), c += S/N mean(c_i+ - c_i). The paper
has no momentum; with momentum, K is replaced by `effective_steps`, so that c_i stays a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.training import Result, Task
from protocols import fedavg, local_rules
from protocols.averaging import WeightedMean
from protocols.base import Package, Shapes, Tensors, Work, sample_count
from protocols.costs import StepCosts
from protocols.server_learning import eta_g_of, server_step
from protocols.weights import add_prefix, is_weight, take_prefixed, zeros

if TYPE_CHECKING:
    from torch import nn

STAR_ONLY = True
VARIATE = "variate/"  # prefix of c on the way down and of c_i+ - c_i on the way up


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """Adds eta_g, by default sqrt(S), as in the FSL paper; and who counts how much.

    The paper's clients count alike. "samples" weighs their models, not their variates, as FedAvg.
    """

    eta_g: float | None = None
    weighting: str = "equal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta_g is not None and self.eta_g <= 0:
            raise ValueError("eta_g must be above 0 (or left out)")
        if self.weighting not in ("equal", "samples"):
            raise ValueError("weighting must be equal or samples")


class Server(fedavg.Server):
    """Holds c, and averages clients with equal weights, or their models by their samples."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self.variate = zeros(model)  # c
        self._changes = WeightedMean()

    def state_to_keep(self) -> Package:
        return Package({}, self.model | add_prefix(VARIATE, self.variate))

    def restore_state(self, state: Package) -> None:
        self.model = {name: state.tensors[name] for name in self.model}
        self.variate = take_prefixed(VARIATE, state.tensors)

    def update_shapes(self, model: Shapes) -> Shapes:
        return {**model, **{VARIATE + name: model[name] for name in model if is_weight(name)}}

    def outgoing(self, child: str) -> Package:
        package = super().outgoing(child)
        package.tensors = self.model | add_prefix(VARIATE, self.variate)
        return package

    def add(self, child: str, package: Package) -> None:
        samples = sample_count(package)
        weight = samples if self.settings.weighting == "samples" else 1
        self._mean.add({name: package.tensors[name] for name in self.model}, weight)
        self._changes.add(take_prefixed(VARIATE, package.tensors), 1)

    def finish(self) -> dict[str, Any]:
        share = self._changes.weight / self.facts.clients  # S / N
        eta_g = eta_g_of(self.settings.eta_g, self.facts.sampled)
        self.model = server_step(self.model, self._mean, eta_g)
        changes = self._changes.exact()
        self.variate = {
            name: (c + share * changes[name]).astype(c.dtype) for name, c in self.variate.items()
        }
        self._mean, self._changes = WeightedMean(), WeightedMean()
        return {}


class Client(fedavg.Client):
    """Holds c_i between rounds."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.variate: Tensors = {}  # c_i; empty stands for zero

    def state_to_keep(self) -> Tensors:
        return self.variate

    def restore_state(self, state: Tensors) -> None:
        self.variate = state

    def work(self, package: Package) -> Work:
        self.variate = self.variate or zeros(take_prefixed(VARIATE, package.tensors))
        work = super().work(package)
        work.rule, work.tensors = "scaffold", add_prefix(local_rules.PREFIX, self.variate)
        return work

    def reply(self, package: Package, result: Result) -> Package:
        before, self.variate = self.variate, take_prefixed(local_rules.PREFIX, result.tensors)
        changes = {name: self.variate[name] - before[name] for name in before}
        answer = super().reply(package, result)
        model = {n: t for n, t in result.tensors.items() if not n.startswith(local_rules.PREFIX)}
        answer.tensors = model | add_prefix(VARIATE, changes)
        return answer


def extra_flops(costs: StepCosts) -> list[float]:
    """One addition per parameter: c - c_i is computed once, and each step adds it."""
    return [costs.parameters]


def effective_steps(steps: int, momentum: float) -> float:
    """How many gradients, times the rate, K steps add up to: K without momentum."""
    if momentum == 0:
        return steps
    return sum((1 - momentum**left) / (1 - momentum) for left in range(1, steps + 1))


class LocalRule(local_rules.LocalRule):
    """y -= eta_l (g(y) - c_i + c), K times."""

    def __init__(self, settings: dict[str, Any]) -> None:
        pass

    def start(self, parameters: Sequence[tuple[str, nn.Parameter]], task: Task) -> None:
        import torch

        self._task = task
        common, own = (
            take_prefixed(prefix, task.tensors) for prefix in (VARIATE, local_rules.PREFIX)
        )
        self._drift = {
            name: torch.tensor(common[name] - own[name], device=parameter.device)
            for name, parameter in parameters
        }

    def adjust_gradients(
        self, named_parameters: Sequence[tuple[str, nn.Parameter]], step: int
    ) -> None:
        for name, parameter in named_parameters:
            if parameter.grad is not None:
                parameter.grad.add_(self._drift[name])

    def finish(self, named_parameters: Sequence[tuple[str, nn.Parameter]], steps: int) -> Tensors:
        """c_i+ = c_i - c + (x - y_i) / (K eta_l)."""
        scale = effective_steps(steps, self._task.momentum) * self._task.learning_rate
        return {
            name: (
                (self._task.tensors[name] - parameter.detach().cpu().numpy()) / scale
                - self._drift[name].cpu().numpy()
            ).astype(self._task.tensors[name].dtype)
            for name, parameter in named_parameters
        }
