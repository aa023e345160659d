"""Who is connected to whom, as Mininet topologies.

Every server has an access network of its own, which is a switch: what a child sends crosses the
child's shaped link and then the switch. A host's `role` and `parent` and a link's `tier` are
ordinary Mininet parameters. A link without a tier attaches a server to its own switch and is not
shaped. Where cells overlap, a client has a link to each, and `others` are the servers that it hears
besides its own. A client that moves also has links to the cells that it `visits`, after the others.
"""

from typing import Any

from mininet.topo import Topo

CLOUD = "cloud"


class StarTopo(Topo):
    """A cloud and its clients, all at one switch."""

    def build(self, clients: int) -> None:
        """Add the cloud, its switch and the clients."""
        self.addHost(CLOUD, role="cloud", parent=None)
        self.addSwitch("wan")
        self.addLink(CLOUD, "wan")
        for number in range(1, clients + 1):
            name = self.addHost(f"client{number}", role="client", parent=CLOUD)
            self.addLink(name, "wan", tier="client-cloud")


class TreeTopo(Topo):
    """A cloud, institutions across a wide-area network, and each institution's own clients."""

    def build(self, institutions: int, clients_per_institution: int) -> None:
        """Add the cloud, and every institution with its clients."""
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


class CellsTopo(Topo):
    """Edge servers, each with a cell of its own; `homes` are the cells that each client hears."""

    def build(
        self,
        cells: int,
        homes: list[tuple[int, ...]],
        cloud: bool,
        visits: list[list[int]] | None = None,
    ) -> None:
        """Add the edge servers and the clients of all cells, with a cloud if there is one."""
        above = self.addHost(CLOUD, role="cloud", parent=None) if cloud else None
        if above:
            self.addSwitch("wan")
            self.addLink(above, "wan")
        for number in range(1, cells + 1):
            edge = self.addHost(f"edge{number}", role="edge", parent=above)
            self.addSwitch(f"cell{number}")
            self.addLink(edge, f"cell{number}")
            if above:
                self.addLink(edge, "wan", tier="edge-cloud")
        for index, heard in enumerate(homes, start=1):
            own, *others = [f"edge{cell + 1}" for cell in heard]
            client = self.addHost(f"client{index}", role="client", parent=own, others=others)
            for cell in (*heard, *(visits[index - 1] if visits else ())):
                self.addLink(client, f"cell{cell + 1}", tier="client-edge")


class GraphTopo(Topo):
    """A cloud, institutions and clients at the routers of a graph.

    A host without a router is at the switch of its institution, as in a tree.
    """

    def build(
        self,
        routers: list[str],
        trunks: list[tuple[str, str]],
        hosts: list[tuple[str, str, str | None, str | None]],
        places: dict[str, tuple[float, float]],  # for reports to draw
    ) -> None:
        """Add the routers, the trunks between them, and hosts: name, role, parent and router."""
        for router in routers:
            self.addSwitch(router)
        for first, second in trunks:
            self.addLink(first, second, trunk=True)
        lans: dict[str, str] = {}
        for name, role, parent, switch in hosts:
            self.addHost(name, role=role, parent=parent)
            if role == "cloud":
                self.addLink(name, switch)
                continue
            upper = "cloud" if parent == CLOUD else "edge"
            if switch is None and parent is not None:
                if parent not in lans:
                    lans[parent] = self.addSwitch(f"lan{parent.removeprefix('inst')}")
                    self.addLink(parent, lans[parent])
                switch = lans[parent]
            self.addLink(name, switch, tier=f"{role}-{upper}")


KINDS: dict[str, type[Topo]] = {
    "star": StarTopo,
    "tree": TreeTopo,
    "cells": CellsTopo,
    "graph": GraphTopo,
}


def build(kind: str, numbers: dict[str, Any]) -> Topo:
    """Build the topology of this kind; `numbers` are the parameters of its `build`."""
    return KINDS[kind](**numbers)
