"""FSL (Mai, La and Zhang; algorithm 1 of both FSL papers): the server learns from data of its own.

Lines 3-9 are FedAvg with a step eta_g: xbar_t = x_t + eta_g Delta_t. The server then trains the
aggregate: x_{t+1} = LocalSGD(xbar_t, gamma eta_0, K_0, D_0) (line 10). Clients train and send as
under FedAvg. With gamma = 0 and eta_g = 1 the method is bit-identical to FedAvg.
"""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

from protocols import fedavg, server_learning
from protocols.base import Facts, Job, Moment, Work
from protocols.server_learning import eta_g_of, server_step

Client = fedavg.Client

STAR_ONLY = True
NEEDS_SERVER_DATA = True


@dataclass(frozen=True)
class Settings(server_learning.Settings):
    """gamma, eta_g, eta_0, and E_s or K_0; defaults are those of the FSL paper's section IV."""

    gamma: float = 1.0
    eta_g: float | None = None  # default: sqrt(S)
    eta_0: float | None = None  # default: sqrt(S) eta_l K / K_0
    server_epochs: int = 0  # E_s; 0 means ceil(n / (N n_0) E_c)
    server_steps: int = 0  # K_0, instead of whole epochs

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma < 0 or self.server_epochs < 0 or self.server_steps < 0:
            raise ValueError("gamma, server_epochs and server_steps must not be negative")
        if any(eta is not None and eta <= 0 for eta in (self.eta_g, self.eta_0)):
            raise ValueError("eta_g and eta_0 must be above 0 (or left out)")
        if self.server_epochs and self.server_steps:
            raise ValueError("give server_epochs or server_steps, not both")


def server_work(settings: Settings, facts: Facts) -> Work:
    """LocalSGD(., gamma eta_0, K_0, D_0): K_0 steps at the rate gamma eta_0."""
    local = settings.local_epochs * ceil(facts.samples / facts.clients / facts.batch_size)  # K
    epoch = ceil(facts.server_samples / facts.batch_size)
    if settings.server_steps:
        steps, epochs = settings.server_steps, ceil(settings.server_steps / epoch)
    else:
        epochs = settings.server_epochs or server_epochs(facts, settings.local_epochs)
        steps = epochs * epoch
    if settings.eta_0 is not None:
        factor = settings.eta_0 / facts.learning_rate
    else:  # sqrt(S) K / K_0 times the clients' rate, also when that decays
        factor = sqrt(facts.sampled) * local / steps
    return Work(epochs, steps=settings.server_steps, rate_factor=settings.gamma * factor)


def server_epochs(facts: Facts, local_epochs: int) -> int:
    """E_s = ceil(n / (N n_0) E_c)."""
    return ceil(facts.samples * local_epochs / (facts.clients * facts.server_samples))


class Server(server_learning.Server):
    """Lines 8-10 of the algorithm."""

    settings: Settings

    def finish(self) -> dict[str, Any]:
        before, mean = self.model, self._mean
        decided = super().finish()
        if self.samples:
            eta_g = eta_g_of(self.settings.eta_g, self.facts.sampled)
            self.model = server_step(before, mean, eta_g)
        return decided

    def server_job(self, moment: Moment) -> Job | None:
        if moment != "after" or self.settings.gamma == 0:
            return super().server_job(moment)
        return Job((), self.model, server_work(self.settings, self.facts))
