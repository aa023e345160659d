"""FedAvgM (Hsu, Qi and Brown 2019): FedAvg whose server keeps a momentum over rounds.

With the mean of the clients' models w', the server's model becomes

    v <- beta v + (w - w'),    w <- w - v,

so that the direction in which the rounds agree is followed faster.

    ./metronome run --plugin examples/fedavgm.py --set protocol.name=fedavgm --set protocol.beta=0.9
"""

from dataclasses import dataclass
from typing import Any

from protocols import fedavg
from protocols.base import Package, Tensors
from protocols.weights import add_prefix, difference, take_prefixed

PROTOCOLS = {"fedavgm": __name__}  # this very module is the method


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """FedAvg's keys in [protocol], and beta."""

    beta: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.beta < 1:
            raise ValueError("beta must be at least 0 and below 1")


class Server(fedavg.Server):
    """The server of the paper's algorithm; `v` is empty before the first round."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self.v: Tensors = {}

    def finish(self) -> dict[str, Any]:
        before = self.model
        decisions = super().finish()  # makes w' the model
        for name, step in difference(before, self.model).items():
            self.v[name] = step + self.settings.beta * self.v.get(name, 0.0)
        self.model = self.model | {
            name: (before[name] - v).astype(before[name].dtype) for name, v in self.v.items()
        }
        return decisions

    def state_to_keep(self) -> Package:
        """The momentum survives a crash of the server, as its model does."""
        return Package({}, self.model | add_prefix("v/", self.v))

    def restore_state(self, state: Package) -> None:
        self.model = {name: state.tensors[name] for name in self.model}
        self.v = {name: v.copy() for name, v in take_prefixed("v/", state.tensors).items()}


class Edge(fedavg.Server):
    """Institutions, if there are any, only average."""


Client = fedavg.Client
