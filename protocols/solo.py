"""SOLO (baseline of MOON and FedRL): every client trains alone and sends nothing.

Each starts from the run's initial model and goes on from its own; the run's accuracy is the mean
over the clients' models. A round is `local_epochs` of it, after which the models are evaluated.
"""

from dataclasses import dataclass

from protocols import base
from protocols.base import Package, Work

ALONE = True

Server = base.Server  # never run


@dataclass(frozen=True)
class Settings:
    """How often models are evaluated, and the local epochs in between."""

    rounds: int
    local_epochs: int = 1

    def __post_init__(self) -> None:
        if self.local_epochs < 1:
            raise ValueError("local_epochs must be at least 1")


class Client(base.Client):
    """Plain SGD on what it had trained before."""

    def work(self, package: Package) -> Work:
        return Work(epochs=self.settings.local_epochs)
