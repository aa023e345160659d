"""FL over overlapping cells without a cloud (the multi-cell paper, algorithm 1).

A client in N_i is within reach of cell i only; a client in O_i is within reach of other cells as
well. A client trains a model for every cell within its reach, one after another, and starts each
from a mixture of the models it received (4). An edge server gives each client in the overlap alpha
times the weight of a client of its own (3).

As printed, the coefficients of (3) do not sum to one; here they are normalised:
1 / (|N_i| + alpha |O_i|) for N_i and alpha / (|N_i| + alpha |O_i|) for O_i. The setting `reading`
has two more ways to read (3), which weigh the two groups of clients differently.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contracts.training import Result
from protocols import fedavg
from protocols.averaging import WeightedMean
from protocols.base import Job, Package, Tensors
from protocols.wire import Refused

CLOUD = False
HEARS_ALL_CELLS = True

_CELLS = "cells"  # key in an update's meta: the number of cells within its client's reach


@dataclass(frozen=True)
class Settings:
    """The number of rounds, the local epochs E, alpha and beta."""

    rounds: int
    local_epochs: int = 5
    alpha: float = 0.5
    beta: float = 0.5
    reading: str = "clients"  # of (3); or "printed", or "groups"

    def __post_init__(self) -> None:
        if self.local_epochs < 1:
            raise ValueError("local_epochs must be at least 1")
        if self.alpha < 0 or self.beta < 0:
            raise ValueError("alpha and beta must not be negative")
        if self.reading not in GROUP_WEIGHTS:
            raise ValueError(f"reading must be {' or '.join(GROUP_WEIGHTS)}")


# What the mean of a group of n clients weighs; the overlap's is multiplied by alpha. As printed, a
# client's own coefficient grows with its group (so the group's with n squared).
GROUP_WEIGHTS: dict[str, Callable[[int], float]] = {
    "clients": float,
    "printed": lambda n: float(n**2),
    "groups": lambda n: float(min(n, 1)),
}


class Server(fedavg.Server):
    """An edge server: eq. (3)."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self._groups = WeightedMean(), WeightedMean()  # N_i and O_i

    def add(self, child: str, package: Package) -> None:
        cells = package.meta.get(_CELLS)
        if type(cells) is not int or cells < 1:
            raise Refused("malformed", f"no number of cells: {cells!r:.40}")
        if self.settings.reading == "clients":
            self._mean.add(package.tensors, 1.0 if cells == 1 else self.settings.alpha)
        else:
            self._groups[cells > 1].add(package.tensors, 1.0)

    def finish(self) -> dict[str, Any]:
        weigh = GROUP_WEIGHTS[self.settings.reading]
        for group, factor in zip(self._groups, (1.0, self.settings.alpha), strict=True):
            if group.weight > 0:
                self._mean.add(group.mean(), factor * weigh(round(group.weight)))
        self._groups = WeightedMean(), WeightedMean()
        if self._mean.weight > 0:  # otherwise only clients of weight 0 answered: the model stays
            self.model = self._mean.mean()
        self._mean = WeightedMean()
        return {}


class Client(fedavg.Client):
    """A client: eq. (4), one model for each cell within reach."""

    def jobs(self, heard: dict[str, Package]) -> list[Job]:
        self._cells = len(heard)
        models = {cell: package.tensors for cell, package in heard.items()}
        return [
            Job((cell,), initial_model(models, cell, self.settings.beta), self.work(package))
            for cell, package in heard.items()
        ]

    def reply(self, package: Package, result: Result) -> Package:
        answer = super().reply(package, result)
        answer.meta[_CELLS] = self._cells
        return answer


def initial_model(models: dict[str, Tensors], cell: str, beta: float) -> Tensors:
    """Eq. (4): the cell's own model, mixed with the mean of the others by the weight beta."""
    others = [model for name, model in models.items() if name != cell]
    if not others or beta == 0:
        return models[cell]
    mixture = WeightedMean()
    mixture.add(models[cell], 1)
    for model in others:
        mixture.add(model, beta / len(others))
    return mixture.mean()
