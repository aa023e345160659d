"""FedMes (Han, Choi, Park and Moon, JSAC 2021): clients where cells overlap carry models across.

Such a client averages the models of the cells within its reach, trains the average, and sends the
result to all of these cells, each of which does FedAvg. There is no cloud.
"""

from protocols import es_fl, fedavg
from protocols.averaging import WeightedMean
from protocols.base import Job, Package

Settings = es_fl.Settings
Server = fedavg.Server

CLOUD = False
HEARS_ALL_CELLS = True


class Client(fedavg.Client):
    """Trains one model for all cells within reach."""

    def jobs(self, heard: dict[str, Package]) -> list[Job]:
        mean = WeightedMean()
        for package in heard.values():
            mean.add(package.tensors, 1)
        first = next(iter(heard.values()))
        return [Job(to=tuple(heard), model=mean.mean(), work=self.work(first))]
