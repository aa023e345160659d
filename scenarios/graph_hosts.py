"""Hosts at the nodes of a graph, the links between its routers, and the way from each to each."""

from collections.abc import Iterator
from typing import Any

from contracts.errors import BadInput
from contracts.links import Shape
from netem.shaping import SHARED_QUEUE
from netem.topologies import CLOUD
from scenarios import graph_files, quantities
from scenarios.graph_files import Graph, Otherwise
from scenarios.link_shapes import shapes
from scenarios.schema import GraphHost, Topology
from scenarios.suggestions import did_you_mean

_Host = tuple[str, str, str | None, str | None]  # name, role, parent, router


def graph_of(topology: Topology) -> Graph | None:
    """Return the topology's graph; None for other kinds."""
    if topology.file is None:
        return None
    return graph_files.load(topology.file, Otherwise(topology.rate, topology.delay))


def router_names(topology: Topology) -> frozenset[str]:
    """Return the routers' names; none for other topologies than graphs."""
    graph = graph_of(topology)
    return frozenset(graph.routers.values()) if graph else frozenset()


def topology_numbers(topology: Topology) -> dict[str, Any]:
    """Return the arguments of the graph's Mininet topology, as plan.json keeps them."""
    graph = graph_of(topology)
    assert graph is not None
    return {
        "routers": list(graph.routers.values()),
        "trunks": [[trunk.first, trunk.second] for trunk in graph.trunks],
        "hosts": [list(host) for host in _hosts(topology, graph)],
        "places": {router: list(place) for router, place in graph.places.items()},
    }


def trunks(topology: Topology) -> Iterator[tuple[str, str, tuple[Shape, Shape]]]:
    """Yield the two routers of every trunk, and the shapes of its two directions."""
    graph = graph_of(topology)
    for trunk in graph.trunks if graph else ():
        there, back = (shapes(link, SHARED_QUEUE)[0] for link in (trunk.there, trunk.back))
        yield trunk.first, trunk.second, (there, back)


def routes(topology: Topology) -> dict[str, dict[str, str]]:
    """Return the next router on the shortest way, by delay, from each router to those with hosts.

    Of ways that are equally short the same is taken in both directions.
    """
    import networkx

    graph = graph_of(topology)
    if graph is None:
        return {}
    net = networkx.Graph()
    net.add_nodes_from(graph.routers.values())
    for number, trunk in enumerate(graph.trunks):
        delay = quantities.seconds(trunk.there.delay) + quantities.seconds(trunk.back.delay)
        net.add_edge(trunk.first, trunk.second, weight=delay + 1e-12 * 2.0 ** (number % 20))
    found: dict[str, dict[str, str]] = {router: {} for router in net}
    for goal in sorted({router for *_, router in _hosts(topology, graph) if router is not None}):
        for router, way in networkx.single_source_dijkstra_path(net, goal).items():
            if router != goal:
                found[router][goal] = way[-2]
    return found


def _hosts(topology: Topology, graph: Graph) -> list[_Host]:
    """Return every host: the cloud, and each institution with its clients."""
    placed = [(place, host) for place, host in enumerate(topology.hosts or (), 1)]
    institutions = [
        _router(graph, place, host)
        for place, host in placed
        if host.role == "edge"
        for _ in range(host.count)
    ]
    names = [f"inst{number}" for number in range(1, len(institutions) + 1)]
    below: dict[str, list[str | None]] = {name: [] for name in (names or [CLOUD])}
    for name in names:
        below[name] += [None] * (topology.clients_per_institution or 0)
    for place, host in placed:
        router = _router(graph, place, host)
        if host.role == "client":
            parent = _parent(place, host, router, dict(zip(names, institutions, strict=True)))
            below[parent] += [router] * host.count
        elif host.parent is not None:
            raise BadInput(f"topology.hosts.{place}.parent: only clients name one; leave it out")
    top = next(_router(graph, place, host) for place, host in placed if host.role == "cloud")
    made: list[_Host] = [(CLOUD, "cloud", None, top)]
    clients = 0
    for server, routers in below.items():
        if server != CLOUD:
            made.append((server, "edge", CLOUD, institutions[names.index(server)]))
        for where in routers:
            clients += 1
            made.append((f"client{clients}", "client", server, where))
    return made


def _router(graph: Graph, place: int, host: GraphHost) -> str:
    if host.at not in graph.routers:
        raise BadInput(
            f'topology.hosts.{place}.at: there is no node "{host.at}"; '
            f"{did_you_mean(host.at, graph.routers)}"
        )
    return graph.routers[host.at]


def _parent(place: int, host: GraphHost, router: str | None, institutions: dict[str, str]) -> str:
    """Return a client's server: the one it names, or the only one that it can be."""
    if not institutions:
        if host.parent not in (None, CLOUD):
            raise BadInput(
                f'topology.hosts.{place}.parent: "{host.parent}" is no institution, and there are '
                "none; leave it out"
            )
        return CLOUD
    if host.parent is not None:
        if host.parent not in institutions:
            raise BadInput(
                f'topology.hosts.{place}.parent: there is no "{host.parent}"; '
                f"{did_you_mean(host.parent, institutions)}"
            )
        return host.parent
    near = [name for name, where in institutions.items() if where == router]
    if len(near) != 1:
        raise BadInput(
            f"topology.hosts.{place}: {len(near)} institutions are at {host.at}; "
            'name the clients\' own, like parent = "inst1"'
        )
    return near[0]
