"""Which servers each client hears now, and the words that tell nodes of changes."""

import itertools

from contracts.control import Cells, Left
from contracts.plan import Plan
from netem.radio import Radio
from nodes.dynamics.effects import Processes


class Coverage:
    """Connects clients to cells, and tells clients and servers about it.

    Keeps who hears whom, and which nodes cannot be reached. Whoever cannot be reached is told
    nothing, and no client is told to join a server that is not there.
    """

    def __init__(self, plan: Plan, radio: Radio, processes: Processes) -> None:
        self._radio, self._processes = radio, processes
        self._link = radio_links(plan)
        self._hears = {
            node.name: tuple(name for name, _ in node.servers)
            for node in plan.nodes
            if node.role == "client"
        }
        self._changes = itertools.count(1)  # every word carries the number of its change
        self._absent: set[str] = set()  # cannot be reached: crashed, finished, not back yet
        self._finished: set[str] = set()

    def is_client(self, node: str) -> bool:
        """Tell whether this node is a client."""
        return node in self._hears

    def is_finished(self, node: str) -> bool:
        """Tell whether this server has finished its training."""
        return node in self._finished

    def is_absent(self, node: str) -> bool:
        """Tell whether this node cannot be reached now."""
        return node in self._absent

    def hears(self, client: str) -> tuple[str, ...]:
        """Return the servers whose cells this client is connected to."""
        return self._hears[client]

    def all_clients(self) -> dict[str, tuple[str, ...]]:
        """Return what every client hears now."""
        return dict(self._hears)

    def connect(self, client: str, cells: tuple[str, ...]) -> None:
        """Connect a client to exactly these cells: first their links, then word to the nodes."""
        before, self._hears[client] = self._hears[client], cells
        for cell in cells:
            self._radio.attach(self._link[client, cell])
        for cell in before:
            if cell not in cells:
                self._radio.detach(self._link[client, cell])
                self._tell_server_left(client, cell)
        self._tell_client(client)

    def finished(self, server: str) -> None:
        """A server has finished: nobody joins it any more."""
        self._finished.add(server)
        self._absent.add(server)
        self.tell_clients_of(server)

    def lost(self, node: str) -> None:
        """A node is about to crash: its servers are told, if it is a client."""
        self._absent.add(node)
        for server in self._hears.get(node, ()):
            self._tell_server_left(node, server)

    def client_back(self, client: str) -> None:
        """A client runs again: tell it what it hears."""
        self._absent.discard(client)
        self._tell_client(client)

    def server_back(self, server: str) -> None:
        """A server takes joins again: tell the clients that hear it."""
        self._absent.discard(server)
        self.tell_clients_of(server)

    def tell_clients_of(self, server: str) -> None:
        """Tell all clients that hear this server which servers they hear now."""
        for client, cells in self._hears.items():
            if server in cells:
                self._tell_client(client)

    def _tell_server_left(self, client: str, server: str) -> None:
        if server not in self._absent:
            self._processes.say(server, Left(client, next(self._changes)))

    def _tell_client(self, client: str) -> None:
        if client not in self._absent:
            hears = [cell for cell in self._hears[client] if cell not in self._absent]
            since, over = next(self._changes), sorted(self._finished)
            self._processes.say(client, Cells(hears, over, since))


def radio_links(plan: Plan) -> dict[tuple[str, str], str]:
    """Return the name of the link between each host and each server that it can reach."""
    return {
        (link.host, server.name): link.name
        for link in plan.links
        if (server := plan.server_across(link)) is not None
    }


def links_down_at_first(plan: Plan) -> list[str]:
    """Return the links to cells that a client may come to hear later."""
    link = radio_links(plan)
    return [link[node.name, name] for node in plan.nodes for name, _ in node.visits]
