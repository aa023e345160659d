"""FSL-p, non-incremental server learning (FSL, section II-B): the server is one more contributor.

While the clients train x_t, the server trains it on D_0, for E_s epochs at their rate. Its model
has gamma times the weight of the clients' mean, as f_0 has gamma times the weight of F in eq. (5):
(mean + gamma x_0) / (1 + gamma). The paper does not give this formula.
"""

from typing import Any

from contracts.training import Result
from protocols import fedavg, fsl
from protocols.averaging import WeightedMean
from protocols.base import Job, Moment, Tensors, Work

Settings = fsl.Settings
Client = fedavg.Client

STAR_ONLY = True
NEEDS_SERVER_DATA = True


class Server(fsl.Server):
    """The server trains beside its clients and takes part in the average."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        super().__init__(settings, model)
        self._own: Tensors = {}

    def server_job(self, moment: Moment) -> Job | None:
        if moment != "beside" or self.settings.gamma == 0:
            return None if moment == "after" else super().server_job(moment)
        work = fsl.server_work(self.settings, self.facts)
        return Job((), self.model, Work(work.epochs, steps=work.steps))

    def server_trained(self, moment: Moment, result: Result) -> None:
        if moment == "beside":
            self._own = result.tensors
        else:
            super().server_trained(moment, result)

    def finish(self) -> dict[str, Any]:
        if self._own and self._mean.weight > 0:
            both = WeightedMean()
            both.add(self._mean.mean(), 1)
            both.add(self._own, self.settings.gamma)
            self._mean, self._own = both, {}
        return super().finish()
