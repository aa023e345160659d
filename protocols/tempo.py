"""Tempo (Ying, Li and Li, ICASSP 2022): the cloud tunes every institution's local epochs.

The paper calls a global round a global iteration.

Step 1: the cloud sends its model and tau_c^(m)(t) to institution m. Steps 2 and 3: the institution
passes both to its clients and averages what comes back, tau_i times (eqs. 3-5). Step 4: the cloud
averages the institutions (6). Step 5: it computes the next epochs from their divergences (9).
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts.messages import EPOCHS
from protocols import fedavg
from protocols.base import Package, Tensors, sample_count
from protocols.weights import difference, norm

Client = fedavg.Client

CLOUD = True
_EQUAL = 1e-6  # tolerance for logarithms of equal divergences, as models travel in float32


@dataclass(frozen=True)
class Settings:
    """T, tau_i, the c of eq. (9), and how many clients an institution draws in each of its rounds.

    The paper prints no draw; its first author's configuration has 4 of 40.
    """

    rounds: int
    c: int = 6
    edge_rounds: int = 1
    clients_per_round: int = 0  # 0 means all

    def __post_init__(self) -> None:
        if self.edge_rounds < 1 or self.c < 1:
            raise ValueError("edge_rounds and c must be at least 1")
        if self.clients_per_round < 0:
            raise ValueError("clients_per_round must not be negative (0 is all of them)")


def epochs(divergences: Mapping[str, float], c: int) -> dict[str, int]:
    """Eq. (9): from c/2 for the largest divergence to 2c for the smallest, log-linearly between."""
    ln = {m: math.log(max(omega, sys.float_info.min)) for m, omega in divergences.items()}
    low, high = min(ln.values()), max(ln.values())
    if high - low < _EQUAL:
        return dict.fromkeys(ln, c)
    # Equal to the paper's (c/2) / (low - high) * (3 ln + low - 4 high), but exact at both ends.
    exact = {m: c / 2 * (1 + 3 * (high - ln[m]) / (high - low)) for m in ln}
    # Tolerate rounding errors, so that a whole number is not rounded up to the next.
    return {m: math.ceil(tau - 1e-9) for m, tau in exact.items()}


class Server(fedavg.Server):
    """The cloud: eq. (6), then eq. (9) for the next global round; in the first, all use c."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self.epochs: dict[str, int] = {}
        self._received: dict[str, Tensors] = {}

    def state_to_keep(self) -> Package:
        return Package({EPOCHS: self.epochs}, self.model)

    def restore_state(self, state: Package) -> None:
        super().restore_state(state)
        self.epochs = state.meta[EPOCHS]

    def outgoing(self, child: str) -> Package:
        return Package({EPOCHS: self.epochs.get(child, self.settings.c)}, self.model)

    def add(self, child: str, package: Package) -> None:
        super().add(child, package)
        if sample_count(package):  # an institution without clients has not diverged
            self._received[child] = package.tensors

    def finish(self) -> dict[str, Any]:
        super().finish()
        omega = {m: norm(difference(w, self.model)) for m, w in self._received.items()}
        self._received = {}
        if omega:
            self.epochs |= epochs(omega, self.settings.c)
        return {"divergences": omega, "epochs": dict(self.epochs)}


class Edge(fedavg.Server):
    """An institution: eqs. (4) and (5), with the epochs that came from the cloud."""

    def receive(self, package: Package) -> None:
        super().receive(package)
        self._epochs = package.meta[EPOCHS]

    def outgoing(self, child: str) -> Package:
        return Package({EPOCHS: self._epochs}, self.model)
