"""The common part of methods with data at the server: pretraining on D_0, and the step eta_g.

The settings are those of the FSL paper's section IV; FSL-short is the case eta_g = 1 with the
server's step size (gamma eta_0) given directly. Clients are weighted by their sample counts, which
are all equal in the papers.
"""

from dataclasses import dataclass
from math import sqrt

from contracts.training import Result
from protocols import fedavg
from protocols.averaging import WeightedMean
from protocols.base import Job, Moment, Tensors, Work
from protocols.weights import is_weight


@dataclass(frozen=True)
class Settings(fedavg.Settings):
    """Adds the server's epochs on D_0 before the first round, and their learning rate."""

    pretrain_epochs: int = 0
    pretrain_rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pretrain_epochs < 0 or self.pretrain_rate <= 0:
            raise ValueError("pretrain_epochs must not be negative, and pretrain_rate above 0")


class Server(fedavg.Server):
    """FedAvg, starting from a model that the server may have pretrained on D_0."""

    settings: Settings

    def server_job(self, moment: Moment) -> Job | None:
        if moment != "before" or self.settings.pretrain_epochs == 0:
            return None
        factor = self.settings.pretrain_rate / self.facts.learning_rate
        return Job((), self.model, Work(self.settings.pretrain_epochs, rate_factor=factor))

    def server_trained(self, moment: Moment, result: Result) -> None:
        self.model = result.tensors


def server_step(model: Tensors, mean: WeightedMean, eta_g: float) -> Tensors:
    """x_t + eta_g Delta_t (FSL, line 9), where x_t + Delta_t is the mean of the clients' models."""
    if eta_g == 1:
        return mean.mean()  # bit-identical to FedAvg
    exact = mean.exact()
    moved = {
        name: (x + eta_g * (exact[name] - x)).astype(x.dtype)
        for name, x in model.items()
        if is_weight(name)  # a longer step might make a variance negative
    }
    return mean.mean() | moved


def eta_g_of(given: float | None, sampled: int) -> float:
    """Return the given eta_g, or the FSL paper's default, sqrt(S)."""
    return sqrt(sampled) if given is None else given
