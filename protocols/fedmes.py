"""FedMes (Han, Choi, Park and Moon, JSAC 2021): clients where cells overlap carry models across.

Such a client averages the models that it hears, trains that one, and sends it to all of its cells,
which average plainly. There is no cloud.
"""

from protocols import es_fl, fedavg
from protocols.averaging import WeightedMean
from protocols.base import Job, Package

Settings = es_fl.Settings
Server = fedavg.Server

CLOUD = False
HEARS_ALL_CELLS = True


class Client(fedavg.Client):
    """One model for all cells heard."""

    def jobs(self, heard: dict[str, Package]) -> list[Job]:
        mean = WeightedMean()
        for package in heard.values():
            mean.add(package.tensors, 1)
        first = next(iter(heard.values()))
        return [Job(to=tuple(heard), model=mean.mean(), work=self.work(first))]
