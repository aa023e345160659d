"""FedAdp (Wu and Wang, IEEE TCCN 2021): updates in the common direction get more weight.

Applied at every server, as in Tempo's section 4: institutions weigh their clients, the cloud weighs
institutions. The paper states it for gradients; here an update is the received model minus the sent
one. An update without a direction (zero, or with a zero average) counts as orthogonal.
"""

import math
from typing import Any

from protocols import fedavg
from protocols.averaging import WeightedMean
from protocols.base import Package, Tensors, sample_count
from protocols.weights import difference, dot, norm

Settings = fedavg.Settings
Client = fedavg.Client

A = 5.0  # the steepness of the Gompertz function, the paper's alpha


def angle(update: Tensors, average: Tensors) -> float:
    """theta_i in radians: the angle between an update and the weighted average of all updates."""
    lengths = norm(update) * norm(average)
    cosine = dot(update, average) / lengths if lengths > 0 else 0.0
    return math.acos(max(-1.0, min(1.0, cosine)))


def gompertz(x: float) -> float:
    """f(x) = a (1 - exp(-exp(-a (x - 1)))): near a for small angles, near 0 for large ones."""
    return A * (1 - math.exp(-math.exp(-A * (x - 1))))


class Server(fedavg.Server):
    """Weights proportional to n_i exp(f(smoothed theta_i)); keeps a round's updates."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self._received: dict[str, tuple[int, Tensors]] = {}
        self._smoothed: dict[str, float] = {}
        self._round = 0  # t

    def state_to_keep(self) -> Package:
        return Package({"round": self._round, "smoothed": self._smoothed}, self.model)

    def restore_state(self, state: Package) -> None:
        super().restore_state(state)
        self._round, self._smoothed = state.meta["round"], state.meta["smoothed"]

    def add(self, child: str, package: Package) -> None:
        super().add(child, package)
        self._received[child] = (sample_count(package), package.tensors)

    def finish(self) -> dict[str, Any]:
        received, self._received = self._received, {}
        if not self._mean.weight > 0:
            return super().finish()  # only institutions without clients answered
        self._round += 1
        average = difference(self._mean.exact(), self.model)
        angles = {i: angle(difference(w, self.model), average) for i, (_, w) in received.items()}
        for i, theta in angles.items():
            before, t = self._smoothed.get(i, theta), self._round
            self._smoothed[i] = ((t - 1) * before + theta) / t
        pull = {i: n * math.exp(gompertz(self._smoothed[i])) for i, (n, _) in received.items()}
        weighted = WeightedMean()
        for i, (_, tensors) in received.items():
            weighted.add(tensors, pull[i])
        super().finish()
        self.model = weighted.mean()
        return {
            "angles": angles,
            "smoothed_angles": {i: self._smoothed[i] for i in received},
            "weights": {i: value / weighted.weight for i, value in pull.items()},
        }
