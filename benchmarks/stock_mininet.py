"""Builds the tree of `benchmarks.startup` with Mininet's own classes, inside a guest."""

import time
from pathlib import Path

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo

from contracts import status
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import Spool


class StockTopo(Topo):
    """The hosts, switches and links of a plan, shaped by TCLink."""

    def build(self, plan: Plan) -> None:
        """Add the plan's hosts and switches, and its links as Mininet shapes them itself."""
        for node in plan.nodes:
            self.addHost(node.name)
        for number, switch in enumerate(dict.fromkeys(link.switch for link in plan.links), 1):
            self.addSwitch(switch, dpid=f"{number:x}")
        for link in plan.links:
            shape = link.up
            shaped = (
                {"bw": shape.rate / 1e6, "delay": f"{shape.delay * 1e3:g}ms"}
                if shape and shape.rate
                else {}
            )
            self.addLink(link.host, link.switch, **shaped)


def main(directories: list[str]) -> None:
    """Build the network and report how long that took."""
    run_dir, spool = Path(directories[0]), Spool(Path(directories[1]))
    plan = Plan.from_json(RunDirectory(run_dir).plan.read_text())
    started = time.monotonic()
    network = Mininet(topo=StockTopo(plan), switch=LinuxBridge, link=TCLink, controller=None)
    network.start()
    status.append(spool.status, status.StockNetworkBuilt(time.monotonic() - started))
    time.sleep(3600)  # the benchmark ends the guest
