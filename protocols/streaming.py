"""Servers without rounds: they take updates one by one, and send new models meanwhile.

The node sends the server's model to whichever child is idle, to as many at once as `at_once`
allows, and takes updates as they come, whatever model they answer. After `wanted` of them it has
the server aggregate (`finish`): what counts as a round here is one aggregation. No child is sent
the same model twice, and where nobody is left to send another update, an aggregation makes do with
fewer.

A cloud above institutions takes what they send up in the same way.
"""

from collections.abc import Mapping
from typing import Any

from protocols import base
from protocols.base import Package, Tensors, sample_count

# In the meta of an update, put there by the node that receives it: how often this server has
# aggregated since it sent the model that the update answers.
STALENESS = "staleness"


class Server(base.Server):
    """A server that takes updates one by one; its settings have `concurrency`."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self._contributed: dict[str, int] = {}  # samples, by child

    @property
    def wanted(self) -> int:
        """How many updates make an aggregation."""
        raise NotImplementedError

    def at_once(self, children: int) -> int:
        """Return how many of so many children may hold a model at a time; 0 in settings: all."""
        return min(children, self.settings.concurrency or children)

    def receive(self, package: Package) -> None:
        super().receive(package)
        self._contributed = {}

    def count_samples(self, child: str, package: Package) -> None:
        """Note whose samples this server's model has learned from since it came from above."""
        self._contributed[child] = sample_count(package)
        self.samples = sum(self._contributed.values())


def check(settings: Any) -> None:
    """Raise ValueError if the settings that these methods share are impossible."""
    for name in ("edge_rounds", "local_epochs"):
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} must be at least 1")
    if settings.concurrency < 0:
        raise ValueError("concurrency must not be negative (0 is all of them)")


def decided(staleness: Mapping[str, int], weight: Mapping[str, float]) -> dict[str, Any]:
    """Return what is recorded of an aggregation: each contributor's last update."""
    return {"staleness": dict(staleness), "weight": dict(weight)}
