"""Who is connected to whom, as Mininet topologies.

Every server has an access network of its own, a switch: what its children send it crosses their
own shaped links and then the switch. A host's `role` and `parent` and a link's `tier` are ordinary
Mininet parameters; a link without a tier attaches a server to its own switch and is not shaped.
"""

from typing import Any

from mininet.topo import Topo

CLOUD = "cloud"


class StarTopo(Topo):
    """A cloud and its clients around one switch."""

    def build(self, clients: int) -> None:
        self.addHost(CLOUD, role="cloud", parent=None)
        self.addSwitch("wan")
        self.addLink(CLOUD, "wan")
        for number in range(1, clients + 1):
            name = self.addHost(f"client{number}", role="client", parent=CLOUD)
            self.addLink(name, "wan", tier="client-cloud")


class TreeTopo(Topo):
    """A cloud, institutions across a wide-area network, and each institution's own clients."""

    def build(self, institutions: int, clients_per_institution: int) -> None:
        self.addHost(CLOUD, role="cloud", parent=None)
        self.addSwitch("wan")
        self.addLink(CLOUD, "wan")
        for number in range(1, institutions + 1):
            edge = self.addHost(f"inst{number}", role="edge", parent=CLOUD)
            access = self.addSwitch(f"lan{number}")
            self.addLink(edge, access)
            self.addLink(edge, "wan", tier="edge-cloud")
            for place in range(1, clients_per_institution + 1):
                index = (number - 1) * clients_per_institution + place
                client = self.addHost(f"client{index}", role="client", parent=edge)
                self.addLink(client, access, tier="client-edge")


KINDS: dict[str, type[Topo]] = {"star": StarTopo, "tree": TreeTopo}


def build(kind: str, numbers: dict[str, Any]) -> Topo:
    """The topology of that kind, with its own numbers."""
    return KINDS[kind](**numbers)
