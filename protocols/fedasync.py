"""FedAsync (Xie, Koyejo and Gupta 2019, arXiv:1903.03934): every update is mixed in as it arrives.

A worker that was sent x_tau returns x_new, from training on f(x) + rho/2 |x - x_tau|^2. The server
then takes x_t = (1 - alpha_t) x_{t-1} + alpha_t x_new with alpha_t = alpha s(t - tau), where s is
one of three functions of the staleness. Reading: staleness is the number of models that the server
made since it sent x_tau, so that s = 1 for an update that nobody overtook. Counted as algorithm 1
prints it, t - tau is at least 1 there, and the paper's s = 1 for t = tau would never occur.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from contracts.messages import EPOCHS
from protocols import fedavg, fedprox, streaming
from protocols.base import Package, Work

extra_flops = fedprox.extra_flops

# s(staleness), given the settings.
FUNCTIONS: dict[str, Callable[["Settings", int], float]] = {
    "constant": lambda _, staleness: 1.0,
    "polynomial": lambda of, staleness: (staleness + 1) ** -of.a,
    "hinge": lambda of, staleness: 1 / (of.a * max(0.0, staleness - of.b) + 1),
}


@dataclass(frozen=True)
class Settings:
    """Alpha, s with its a and b, rho, and how many children may hold a model at a time.

    `rounds` are aggregations, and so are `edge_rounds`, an institution's between two models of the
    cloud. The paper's best hinge has a = 10 and b = 4, its best polynomial a = 0.5.
    """

    rounds: int
    edge_rounds: int = 1
    local_epochs: int = 1
    alpha: float = 0.6
    function: str = "polynomial"  # or "hinge", or "constant"
    a: float = 0.5
    b: float = 4.0
    rho: float = 0.0
    concurrency: int = 0  # 0 means all

    def __post_init__(self) -> None:
        streaming.check(self)
        if not 0 < self.alpha <= 1:
            raise ValueError("alpha must be above 0 and at most 1")
        if self.function not in FUNCTIONS:
            raise ValueError(f"function must be one of {', '.join(FUNCTIONS)}")
        if self.a < 0 or self.b < 0 or self.rho < 0:
            raise ValueError("a, b and rho must not be negative")


class Server(streaming.Server):
    """Mixes one model at a time into its own."""

    wanted = 1

    def outgoing(self, child: str) -> Package:
        return Package({EPOCHS: self.settings.local_epochs}, self.model)

    def add(self, child: str, package: Package) -> None:
        self.count_samples(child, package)
        self._update = child, package

    def finish(self) -> dict[str, Any]:
        child, package = self._update
        staleness = package.meta[streaming.STALENESS]
        s = FUNCTIONS[self.settings.function](self.settings, staleness)
        alpha_t = self.settings.alpha * s
        self.model = {
            name: _mixed(x, package.tensors[name], alpha_t) for name, x in self.model.items()
        }
        del self._update
        return streaming.decided({child: staleness}, {child: alpha_t})


def _mixed(x: np.ndarray, x_new: np.ndarray, alpha_t: float) -> np.ndarray:
    mixed: np.ndarray = np.multiply(x, 1 - alpha_t, dtype=np.float64)
    mixed += np.multiply(x_new, alpha_t, dtype=np.float64)
    if np.issubdtype(x.dtype, np.integer):
        mixed = np.rint(mixed)
    return mixed.astype(x.dtype)


class Client(fedavg.Client):
    """Plain SGD, with FedProx's term where rho is above 0."""

    def work(self, package: Package) -> Work:
        work = super().work(package)
        if self.settings.rho > 0:
            work.rule, work.settings = fedprox.Client.rule, {"mu": self.settings.rho}
        return work
