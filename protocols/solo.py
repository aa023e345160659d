"""SOLO (baseline of MOON and FedRL): every client trains alone and sends nothing.

Each client starts from the run's initial model and continues from its own. A round is
`local_epochs` of training, after which the models are evaluated; the run's accuracy is the mean
over the clients' models.
"""

from dataclasses import dataclass

from protocols import base
from protocols.base import Package, Work

ALONE = True

Server = base.Server  # never used


@dataclass(frozen=True)
class Settings:
    """The number of evaluations, and the local epochs between them."""

    rounds: int
    local_epochs: int = 1

    def __post_init__(self) -> None:
        if self.local_epochs < 1:
            raise ValueError("local_epochs must be at least 1")


class Client(base.Client):
    """Plain SGD, continuing from the client's own model."""

    def work(self, package: Package) -> Work:
        return Work(epochs=self.settings.local_epochs)
