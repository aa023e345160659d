"""HierFAVG (Liu, Zhang, Song and Letaief, ICC 2020): FedAvg at the edges and at the cloud.

Edge servers average their clients after every `local_epochs`, and the cloud averages the edge
servers after every `edge_rounds`, each weighted by the samples below it: FedAvg in three layers.
"""

from dataclasses import dataclass

from protocols import fedavg

Server = fedavg.Server
Client = fedavg.Client

CLOUD = True


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """The multi-cell paper's numbers: 5 local epochs, 5 edge aggregations per cloud aggregation."""

    edge_rounds: int = 5
    local_epochs: int = 5
