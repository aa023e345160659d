"""A plug-in: FedAvg, whose clients try to touch what is outside before they train."""

import json
import sys
from pathlib import Path
from typing import Any

from contracts.spool import Spool
from protocols import fedavg
from protocols.base import Package, Work
from tests.support.trespasser import is_inside, try_as_a_node

PROTOCOLS = {"trespassing": __name__}
SAYING = "tried: "

Settings = fedavg.Settings
Server = fedavg.Server


class Client(fedavg.Client):
    """A client that cannot be trusted."""

    def work(self, package: Package) -> Work:
        """Try everything, say in the log what became of it, and train as asked."""
        if is_inside():  # the host plays a round through beforehand
            *_, run_dir, spool = sys.argv  # of the launcher, whose child a node is
            found: dict[str, Any] = try_as_a_node(Path(run_dir), Spool(Path(spool)))
            print(f"{SAYING}{json.dumps(found)}", file=sys.stderr, flush=True)
        return super().work(package)
