"""ES-FL (baseline of the multi-cell paper): FedAvg at every edge server, with nothing shared.

A client where cells overlap belongs to the cell that its data come from.
"""

from dataclasses import dataclass

from protocols import fedavg

Server = fedavg.Server
Client = fedavg.Client

CLOUD = False


@dataclass(frozen=True)
class Settings:
    """The number of rounds, and the local epochs E."""

    rounds: int
    local_epochs: int = 5

    def __post_init__(self) -> None:
        if self.local_epochs < 1:
            raise ValueError("local_epochs must be at least 1")
