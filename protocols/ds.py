"""DS (Zhao et al. 2018; baseline of the FSL papers): FedAvg with a small data set shared by all.

The server sends D_0 to every client once, over the same links as the models. Each client then
trains on D_i and D_0 together, and its weight in the average is n_i + n_0 (FSL, eq. 3).
"""

from typing import Any

import numpy as np

from contracts.training import EXTRA_IMAGES, EXTRA_LABELS
from protocols import fedavg, server_learning
from protocols.base import Package, Tensors, Work
from protocols.wire import Refused

Settings = server_learning.Settings

STAR_ONLY = True
NEEDS_SERVER_DATA = True
SENDS_SERVER_DATA = True


def shared_samples(data: Tensors) -> Package:
    """Pack D_0 for sending, with one byte per label if that is enough."""
    images, labels = data["images"], data["labels"]
    small = labels.astype(np.uint8) if labels.max(initial=0) < 256 else labels
    return Package(tensors={EXTRA_IMAGES: images, EXTRA_LABELS: small})


class Server(server_learning.Server):
    """Sends D_0 to all clients, then averages like FedAvg."""

    def data_to_share(self) -> Package:
        return shared_samples(self.data)


class Client(fedavg.Client):
    """Trains on its own samples and on D_0."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self._shared: Tensors = {}

    def receive_data(self, package: Package) -> None:
        if package.tensors.keys() != {EXTRA_IMAGES, EXTRA_LABELS}:
            raise Refused("malformed", "not a data set")
        self._shared = dict(package.tensors)
        self._shared[EXTRA_LABELS] = package.tensors[EXTRA_LABELS].astype(np.int64)

    def work(self, package: Package) -> Work:
        if not self._shared:
            raise ValueError("a model came, but the shared samples did not come before it")
        work = super().work(package)
        work.tensors = self._shared
        return work
