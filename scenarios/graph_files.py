"""Reads the graph of a network: a GML file, as of the Topology Zoo and of Shadow, or JSON.

An edge has a rate, a delay and perhaps a loss: as `rate`, `delay` and `loss` like a link of a
scenario, as the Topology Zoo's LinkSpeedRaw, or as Shadow's `latency` and `packet_loss`. Where the
nodes' coordinates are known, an edge without a delay gets that of light in a straight fibre. Files
of the Zoo have nodes that share a label, and edges side by side without saying so.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contracts.errors import BadInput
from contracts.links import LONGEST_INTERFACE_NAME
from netem import profiles
from scenarios import named_files, quantities
from scenarios.sections import Link

_EARTH_KILOMETRES = 6371.0
_HIGHEST_RATE = 30e9  # bits per second: what can be shaped; faster edges count as this
_MOST_ROUTERS = 2000
_MANY = 400  # nodes
_FIBRE_KILOMETRES_A_SECOND = 200_000.0  # two thirds of the speed of light
_TAKEN = re.compile(r"(client|inst|edge|lan|cloud|wan|lo|trunk|port)\d*")  # others have these names


@dataclass(frozen=True)
class Trunk:
    """A link between two routers; `back` is what its other direction does."""

    first: str
    second: str
    there: Link
    back: Link


@dataclass(frozen=True)
class Graph:
    """A network's routers, by the labels of their nodes, and the links between them."""

    routers: Mapping[str, str]  # label -> name
    trunks: tuple[Trunk, ...]
    places: Mapping[str, tuple[float, float]]  # name -> where to draw it, x to the right, y down


@dataclass(frozen=True)
class Otherwise:
    """What edges have that say nothing themselves."""

    rate: str | None = None
    delay: str | float | None = None


_NOTHING = Otherwise()


def load(name_or_file: str, otherwise: Otherwise = _NOTHING) -> Graph:
    """Read a graph; BadInput says what is wrong with it."""
    path = named_files.find(name_or_file, profiles.graphs(), "graph", "topology.file")
    return _read(path, path.stat().st_mtime_ns, otherwise)


@cache
def _read(path: Path, _changed: int, otherwise: Otherwise) -> Graph:
    import networkx

    text = named_files.read(path, "a graph", "GML or JSON")
    try:
        if text.lstrip().startswith("{"):
            tree = json.loads(text)
            found = networkx.node_link_graph(tree, edges="edges" if "edges" in tree else "links")
            if len(found) > len(tree["nodes"]):
                raise ValueError("an edge ends at a node that is not in its list of nodes")
        else:
            found = networkx.parse_gml(_with_edges_side_by_side(text), label="id")
        dict(found.graph)
    except (
        networkx.NetworkXError,
        AttributeError,
        KeyError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"{path}: is not a graph ({reason}); give GML or node-link JSON") from None
    if not len(found):
        raise BadInput(f"{path}: has no nodes; give a graph with some")
    if len(found) > _MOST_ROUTERS:
        raise BadInput(f"{path}: has {len(found)} nodes; give a graph of at most {_MOST_ROUTERS}")
    _tell_apart(found)
    parts = list(networkx.connected_components(found.to_undirected(as_view=True)))
    if len(parts) > 1:
        smallest: set[Any] = min(parts, key=lambda part: len(part))
        lonely = _label(found, min(smallest, key=str))
        raise BadInput(f'{path}: is not connected, "{lonely}" cannot be reached; add an edge')
    routers = _names([_label(found, node) for node in found], path)
    places = {routers[_label(found, node)]: spot for node, spot in _places(found).items()}
    return Graph(routers, _trunks(found, routers, otherwise, path), places)


def _with_edges_side_by_side(text: str) -> str:
    """Let a GML text have several edges between two nodes, also if it does not say that it has."""
    if re.search(r"(?m)^[^#\"]*\bmultigraph\b", text):
        return text
    return re.sub(r"(?m)^([^#\"\n]*\bgraph\s*\[)", r"\1 multigraph 1", text, count=1)


def _tell_apart(graph: Any) -> None:
    """Add their ids to the labels of nodes that share one."""
    seen = Counter(_label(graph, node) for node in graph)
    for node in graph:
        if seen[label := _label(graph, node)] > 1:
            graph.nodes[node]["label"] = f"{label} ({node})"


def _places(graph: Any) -> dict[Any, tuple[float, float]]:
    """Return where to draw the nodes: where they are on the map or, if unknown, spread out."""
    import networkx

    points = {node: _coordinates(graph.nodes[node]) for node in graph}
    known = [point for point in points.values() if point is not None]
    if len(known) < len(points):
        plain = networkx.Graph(graph.to_undirected(as_view=True).edges())
        plain.add_nodes_from(graph)
        if len(plain) <= _MANY:
            spread = networkx.spring_layout(plain, seed=1)
        else:  # springs would take minutes
            spread = networkx.bfs_layout(plain, max(plain, key=plain.degree))
        return {node: (round(float(x), 4), round(float(y), 4)) for node, (x, y) in spread.items()}
    middle = math.cos(sum(latitude for latitude, _ in known) / len(known))
    return {
        node: (round(point[1] * middle, 4), round(-point[0], 4))
        for node, point in points.items()
        if point is not None
    }


def _label(graph: Any, node: Any) -> str:
    return str(graph.nodes[node].get("label", node))


def _names(labels: list[str], path: Path) -> dict[str, str]:
    """Name every router so that Linux takes it: short, in plain letters and digits."""
    names: dict[str, str] = {}
    for label in labels:
        if label in names:
            raise BadInput(f'{path}: two nodes are labelled "{label}"; give each its own label')
        plain = re.sub(r"[^a-z0-9]", "", label.lower())[:LONGEST_INTERFACE_NAME] or "router"
        if not plain[0].isalpha():
            plain = f"r{plain}"[:LONGEST_INTERFACE_NAME]
        name, number = plain, 1
        while name in names.values() or _TAKEN.fullmatch(name):
            number += 1
            name = f"{plain[: LONGEST_INTERFACE_NAME - len(str(number)) - 1]}x{number}"
        names[label] = name
    return names


def _trunks(
    graph: Any, routers: dict[str, str], otherwise: Otherwise, path: Path
) -> tuple[Trunk, ...]:
    there: dict[tuple[str, str], list[Link]] = {}
    for first, second, facts in graph.edges(data=True):
        if first != second:
            ends = routers[_label(graph, first)], routers[_label(graph, second)]
            words = f'{path}: the edge from "{_label(graph, first)}" to "{_label(graph, second)}"'
            light = _delay(graph.nodes[first], graph.nodes[second])
            delay = otherwise.delay if light is None else light
            link = _link(facts, Otherwise(otherwise.rate, delay), words)
            there.setdefault(ends, []).append(link)
    made = []
    for (first, second), links in there.items():
        if (second, first) in there and (second, first) < (first, second):
            continue  # the other direction of a trunk that is made from there
        back = there.get((second, first), links)
        made.append(Trunk(first, second, _together(links), _together(back)))
    return tuple(made)


def _together(links: list[Link]) -> Link:
    """Return one link for several side by side: all their rates, and the first one's delay."""
    if len(links) == 1:
        return links[0]
    whole = sum(quantities.bits_per_second(link.rate or "") for link in links)
    return links[0].model_copy(update={"rate": f"{min(whole, _HIGHEST_RATE):.0f}bit"})


def _link(facts: Mapping[str, Any], otherwise: Otherwise, words: str) -> Link:
    rate = facts.get("rate", facts.get("LinkSpeedRaw", otherwise.rate))
    if rate is None:
        raise BadInput(f"{words} has no rate; add one, or set topology.rate")
    delay = facts.get("delay", facts.get("latency", otherwise.delay))
    if delay is None:
        raise BadInput(
            f"{words} has no delay; add one, the nodes' Latitude and Longitude, or topology.delay"
        )
    values = {
        "rate": _rate(rate),
        "delay": _time(delay),
        "jitter": _time(facts.get("jitter", 0)),
        "loss": _share(facts.get("loss", facts.get("packet_loss", 0))),
    }
    try:
        return Link.model_validate(values)
    except ValidationError as error:
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise BadInput(f"{words}: {message}; correct it") from None


def _rate(rate: Any) -> Any:
    """Return what can be shaped: plain numbers are bits per second."""
    try:
        number = quantities.bits_per_second(rate) if isinstance(rate, str) else float(rate)
    except (TypeError, ValueError):
        return rate  # it will be refused
    if number > _HIGHEST_RATE and math.isfinite(number):
        return f"{_HIGHEST_RATE:.0f}bit"
    return rate if isinstance(rate, str) else f"{number:.0f}bit"


def _time(value: Any) -> Any:
    """Return a time as scenarios have it: "10ms" for "10 ms"."""
    if isinstance(value, str):
        return value.replace(" ", "")
    return float(value) if isinstance(value, int) else value


def _share(loss: Any) -> Any:
    return float(loss) if type(loss) is int else loss


def _delay(first: Mapping[str, Any], second: Mapping[str, Any]) -> float | None:
    """Return the seconds that light takes in a straight fibre; None without coordinates."""
    one, other = _coordinates(first), _coordinates(second)
    if one is None or other is None:
        return None
    (lat1, lon1), (lat2, lon2) = one, other
    half = math.sin((lat2 - lat1) / 2) ** 2
    half += math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    kilometres = 2 * _EARTH_KILOMETRES * math.asin(min(1.0, math.sqrt(half)))
    return round(kilometres / _FIBRE_KILOMETRES_A_SECOND, 6)


def _coordinates(node: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return a node's latitude and longitude in radians, if it has them."""
    try:
        point = math.radians(float(node["Latitude"])), math.radians(float(node["Longitude"]))
    except (KeyError, TypeError, ValueError):
        return None
    return point if all(map(math.isfinite, point)) else None
