"""DSL (FSL-short, section III): data sharing and server learning together.

The server shares D_0 with all clients (DS), and itself trains on it after each aggregation (FSL).
"""

from protocols import ds, fsl
from protocols.base import Package

Settings = fsl.Settings
Client = ds.Client

STAR_ONLY = True
NEEDS_SERVER_DATA = True
SENDS_SERVER_DATA = True


class Server(fsl.Server):
    """FSL's server, which also sends D_0 to all clients."""

    def data_to_share(self) -> Package:
        return ds.shared_samples(self.data)
