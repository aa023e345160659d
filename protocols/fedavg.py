"""FedAvg in two and three layers (McMahan et al. 2017; Tempo eqs. 3-7).

A client's model after tau_c local epochs is w_n (3). Institutions average their clients, weighted
by |D_n| (4), tau_i times, each time starting from their own average (5). The cloud averages the
institutions, weighted by |D^(m)| (6), and its model starts the next global round (7). Without
institutions, (4) is done by the cloud.
"""

from dataclasses import dataclass
from typing import Any

from contracts.messages import EPOCHS
from protocols import base
from protocols.averaging import WeightedMean
from protocols.base import Package, Work, sample_count


@dataclass(frozen=True)
class Settings:
    """T, tau_i and tau_c; and S, the number of clients drawn by a server in each of its rounds."""

    rounds: int
    edge_rounds: int = 1
    local_epochs: int = 1
    clients_per_round: int = 0  # 0 means all

    def __post_init__(self) -> None:
        if self.edge_rounds < 1 or self.local_epochs < 1:
            raise ValueError("edge_rounds and local_epochs must be at least 1")
        if self.clients_per_round < 0:
            raise ValueError("clients_per_round must not be negative (0 is all of them)")


class Server(base.Server):
    """Eqs. (4) and (6): the mean of the children's models, weighted by their sample counts."""

    def __init__(self, settings: Any, model: base.Tensors) -> None:
        super().__init__(settings, model)
        self._mean = WeightedMean()

    def outgoing(self, child: str) -> Package:
        return Package({EPOCHS: self.settings.local_epochs}, self.model)

    def add(self, child: str, package: Package) -> None:
        self._mean.add(package.tensors, sample_count(package))

    def finish(self) -> dict[str, Any]:
        self.samples = int(self._mean.weight)
        if self.samples:  # otherwise only edges without clients answered, and the model stays
            self.model = self._mean.mean()
        self._mean = WeightedMean()
        return {}


class Client(base.Client):
    """Eq. (3): plain SGD for as many epochs as the server says."""

    def work(self, package: Package) -> Work:
        return Work(epochs=package.meta[EPOCHS])
