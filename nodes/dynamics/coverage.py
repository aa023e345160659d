"""Which servers each node hears now, and the words that tell nodes of changes."""

import itertools

from contracts.control import Cells, Left, Rejoining
from contracts.plan import Plan
from netem.radio import Radio
from nodes.dynamics.effects import Processes


class Coverage:
    """Connects clients to cells, and tells clients and servers about it.

    Keeps who hears whom, and which nodes cannot be reached. Whoever cannot be reached is told
    nothing, and nobody is told to join a server that is not there. An edge below a cloud is told of
    the cloud as a client is told of its servers.
    """

    def __init__(self, plan: Plan, radio: Radio, processes: Processes) -> None:
        self._radio, self._processes = radio, processes
        self._link = radio_links(plan)
        self._clients = {node.name for node in plan.nodes if node.role == "client"}
        self._in_reach = {
            node.name: tuple(name for name, _ in node.servers)
            for node in plan.nodes
            if node.servers
        }
        self._away: set[str] = set()  # clients without any link, wherever they are
        self._changes = itertools.count(1)  # every word carries the number of its change
        self._absent: set[str] = set()  # cannot be reached: crashed, finished, not back yet
        self._finished: set[str] = set()

    def is_client(self, node: str) -> bool:
        """Tell whether this node is a client."""
        return node in self._clients

    def is_finished(self, node: str) -> bool:
        """Tell whether this server has finished its training."""
        return node in self._finished

    def is_over_for(self, node: str) -> bool:
        """Tell whether a node is below servers, all of which have finished."""
        return node in self._in_reach and self._finished.issuperset(self._in_reach[node])

    def is_absent(self, node: str) -> bool:
        """Tell whether this node cannot be reached now."""
        return node in self._absent

    def hears(self, client: str) -> tuple[str, ...]:
        """Return the servers whose cells this client is connected to, unless it is away."""
        return self._in_reach[client]

    def all_clients(self) -> dict[str, tuple[str, ...]]:
        """Return what every client hears now, unless it is away."""
        return {name: cells for name, cells in self._in_reach.items() if self.is_client(name)}

    def connect(self, client: str, cells: tuple[str, ...]) -> None:
        """Connect a client to exactly these cells; one that is away, once it is back."""
        before, self._in_reach[client] = self._in_reach[client], cells
        if client not in self._away:
            self._change_links(client, before, cells)

    def leave(self, client: str) -> None:
        """A client goes away: it has no link until it is back."""
        self._away.add(client)
        self._change_links(client, self._in_reach[client], ())

    def come_back(self, client: str) -> None:
        """A client is back from where it was."""
        self._away.discard(client)
        self._change_links(client, (), self._in_reach[client])

    def _change_links(self, client: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        """Change a client's links, then tell the nodes."""
        for cell in after:
            self._radio.attach(self._link[client, cell])
        for cell in before:
            if cell not in after:
                self._radio.detach(self._link[client, cell])
                self._tell_server_left(client, cell)
        self._tell_child(client)

    def finished(self, server: str) -> None:
        """A server has finished: nobody joins it any more."""
        self._finished.add(server)
        self._absent.add(server)
        self.tell_children_of(server)

    def lost(self, node: str) -> None:
        """A node is about to crash: the servers above it are told."""
        self._absent.add(node)
        for server in self._hears(node):
            self._tell_server_left(node, server)

    def client_back(self, client: str) -> None:
        """A client runs again: tell it what it hears."""
        self._absent.discard(client)
        self._tell_child(client)

    def server_back(self, server: str) -> None:
        """A server takes joins again: tell it who is about to join, and those who hear it."""
        self._absent.discard(server)
        children = [child for child in self._children_of(server) if child not in self._absent]
        self._processes.say(server, Rejoining(children))
        self.tell_children_of(server)
        if server in self._in_reach:
            self._tell_child(server)

    def tell_children_of(self, server: str) -> None:
        """Tell all that hear this server which servers they hear now."""
        for child in self._children_of(server):
            self._tell_child(child)

    def _hears(self, node: str) -> tuple[str, ...]:
        """Return the servers that a node has a link to."""
        return () if node in self._away else self._in_reach.get(node, ())

    def _children_of(self, server: str) -> list[str]:
        return [child for child in self._in_reach if server in self._hears(child)]

    def _tell_server_left(self, client: str, server: str) -> None:
        if server not in self._absent:
            self._processes.say(server, Left(client, next(self._changes)))

    def _tell_child(self, child: str) -> None:
        if child not in self._absent:
            hears = [server for server in self._hears(child) if server not in self._absent]
            since, over = next(self._changes), sorted(self._finished)
            self._processes.say(child, Cells(hears, over, since))


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
