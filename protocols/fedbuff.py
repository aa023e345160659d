"""FedBuff (Nguyen et al., AISTATS 2022): a buffer of K updates makes one step of the server.

A client that was sent x returns Delta_i = y_i - x after its local training. Whatever model they
answer, the server adds s(tau_i) Delta_i to its buffer, with s(tau) = 1 / sqrt(1 + tau) for an
update that is tau server steps old; after K of them it takes x + eta_g (1/K) sum_i s(tau_i) Delta_i
(algorithm 1) and empties the buffer. At most `concurrency` clients train at a time; whoever returns
an update makes room for another. With K = all and equal clients this is FedAvg.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from contracts.messages import EPOCHS, SAMPLES
from contracts.training import Result
from protocols import fedavg, streaming
from protocols.averaging import WeightedMean
from protocols.base import Package, Tensors
from protocols.weights import is_weight

SENDS_CHANGES = True


@dataclass(frozen=True)
class Settings:
    """K, eta_g, the exponent of s, and how many children may hold a model at a time.

    `rounds` are the server's steps, and so are `edge_rounds`, an institution's between two models
    of the cloud. `buffer` is K for a server's clients, `cloud_buffer` for a cloud's institutions.
    """

    rounds: int
    edge_rounds: int = 1
    local_epochs: int = 1
    buffer: int = 10
    cloud_buffer: int = 1
    eta_g: float = 1.0
    exponent: float = 0.5  # s(tau) = (1 + tau) ** -exponent
    concurrency: int = 0  # 0 means all

    def __post_init__(self) -> None:
        streaming.check(self)
        if self.buffer < 1 or self.cloud_buffer < 1:
            raise ValueError("buffer and cloud_buffer must be at least 1")
        if self.eta_g <= 0 or self.exponent < 0:
            raise ValueError("eta_g must be positive, and exponent must not be negative")


class Server(streaming.Server):
    """Algorithm 1, at the cloud or at an institution."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self._empty_buffer()

    @property
    def wanted(self) -> int:
        settings: Settings = self.settings
        return settings.cloud_buffer if self.facts.institutions else settings.buffer

    def receive(self, package: Package) -> None:
        super().receive(package)
        self._received = package.tensors

    def outgoing(self, child: str) -> Package:
        return Package({EPOCHS: self.settings.local_epochs}, self.model)

    def add(self, child: str, package: Package) -> None:
        self.count_samples(child, package)
        staleness = package.meta[streaming.STALENESS]
        weight = (1 + staleness) ** -self.settings.exponent
        self._buffer.add(package.tensors, weight)
        self._updates += 1
        self._staleness[child], self._weights[child] = staleness, weight

    def finish(self) -> dict[str, Any]:
        mean = self._buffer.exact()  # over the sum of the weights; the paper divides by K
        step = self._buffer.weight / self._updates
        self.model = {
            name: self._moved(name, x, step * mean[name]) for name, x in self.model.items()
        }
        found = streaming.decided(self._staleness, self._weights)
        self._empty_buffer()
        return found

    def upward(self) -> Package:
        """An institution's own Delta: its model minus the one that the cloud sent."""
        return Package({SAMPLES: self.samples}, _delta(self.model, self._received))

    def _moved(self, name: str, x: np.ndarray, delta: np.ndarray) -> np.ndarray:
        eta = self.settings.eta_g if is_weight(name) else 1.0  # statistics are no gradients
        moved = x + eta * delta
        return (np.rint(moved) if np.issubdtype(x.dtype, np.integer) else moved).astype(x.dtype)

    def _empty_buffer(self) -> None:
        self._buffer, self._updates = WeightedMean(), 0
        self._staleness: dict[str, int] = {}
        self._weights: dict[str, float] = {}


class Client(fedavg.Client):
    """Plain SGD from the model that came; what goes back is Delta_i."""

    def reply(self, package: Package, result: Result) -> Package:
        trained = super().reply(package, result)
        return Package(trained.meta, _delta(trained.tensors, package.tensors))


def _delta(model: Tensors, reference: Tensors) -> Tensors:
    return {name: tensor - reference[name] for name, tensor in model.items()}
