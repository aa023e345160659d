"""The plan of a run: every node and every link with its numbers, decided before anything starts.

The planner (scenarios.planner) makes it, plan.json carries it into the guest, and the nodes and the
reports read it. It is made of plain dataclasses because importing pydantic inside the
guest costs a second.
"""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from contracts.availability import Availability
from contracts.links import Hop, LinkSpec
from contracts.provenance import Provenance
from contracts.timeline import (
    CrashEvent,
    HandoverEvent,
    RestartEvent,
    TimelineEvent,
    Walk,
    event_from_tree,
)
from contracts.traces import Trace
from contracts.traffic import Flow
from contracts.training import TrainingSettings

# What encryption adds to each frame: a command's name (8), a nonce (8), a mark (1), a check (16).
_ENCRYPTED_FRAME_BYTES = 33


def size_of(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Return the bytes of tensors with these types and shapes."""
    return sum(np.dtype(kind).itemsize * math.prod(shape) for kind, shape in tensors.values())


@dataclass(frozen=True)
class NodeSpec:
    """One node: its role, its place in the network, and what computing costs on its device."""

    name: str
    role: str
    index: int
    parent: str | None
    parent_address: str | None
    children: tuple[str, ...]
    addresses: dict[str, str]  # network (a switch's name) -> address
    device: str
    seconds_per_step: float
    memory_bytes_per_second: float
    samples: int
    others: tuple[tuple[str, str], ...] = ()  # further servers that it hears: name, address
    visits: tuple[tuple[str, str], ...] = ()  # servers that it may come to hear later
    shared_device: str = ""  # the name of the device that it shares with others; empty: its own
    extra_seconds: tuple[float, ...] = ()  # that the method's rule adds to each step, repeating

    @property
    def servers(self) -> tuple[tuple[str, str], ...]:
        """All servers above it with their addresses, its own first."""
        if self.parent is None or self.parent_address is None:
            return ()
        return ((self.parent, self.parent_address), *self.others)

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "NodeSpec":
        """Read it from plan.json."""
        typed: dict[str, Any] = {
            "children": tuple(tree["children"]),
            "others": tuple((name, address) for name, address in tree.get("others", ())),
            "visits": tuple((name, address) for name, address in tree.get("visits", ())),
            "extra_seconds": tuple(tree.get("extra_seconds", ())),
        }
        return cls(**{**tree, **typed})

    def rule_seconds(self, steps: int) -> float:
        """Return the seconds that the method's rule adds to this many training steps."""
        if not self.extra_seconds:
            return 0.0
        cycles, rest = divmod(steps, len(self.extra_seconds))
        return cycles * math.fsum(self.extra_seconds) + math.fsum(self.extra_seconds[:rest])


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bound of every wait in seconds, and what a server does at the deadline of a round."""

    join: float  # until every child has joined its server
    round: float  # until every update of a round has arrived
    patience: float | None  # where cells overlap: how long a client waits for another cell's model
    late: Literal["abort", "wait", "quorum"]
    quorum: float  # share of the clients that is enough, when `late` is "quorum"
    message: int  # bytes: larger messages are refused


@dataclass(frozen=True, kw_only=True)
class CellPlan:
    """The cells of a run, for scoring its models cell by cell."""

    edges: tuple[str, ...]  # the edge servers' names, in the order of their cells
    main_classes: dict[str, tuple[int, ...]]  # edge server -> the classes its own clients have
    rho: tuple[float, ...]  # shares of main classes in the cells' test sets, the run's own first
    has_cloud: bool  # a cloud above the edge servers makes one global model

    def to_tree(self) -> dict[str, Any]:
        """Return it as plan.json has it."""
        tree = dataclasses.asdict(self)
        tree["global"] = tree.pop("has_cloud")
        return tree

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "CellPlan":
        """Read it from plan.json."""
        return cls(
            edges=tuple(tree["edges"]),
            main_classes={edge: tuple(main) for edge, main in tree["main_classes"].items()},
            rho=tuple(tree["rho"]),
            has_cloud=tree["global"],
        )


@dataclass(frozen=True)
class Plan:
    """Everything that the launcher and the nodes need to know about a run."""

    run: str
    clock: str
    seed: int
    protocol: str
    rounds: int
    topology: str
    topology_numbers: dict[str, Any]  # the keyword arguments of that Mininet topology
    nodes: tuple[NodeSpec, ...]
    links: tuple[LinkSpec, ...]
    settings: dict[str, Any]  # the method's own `Settings`, as plain data
    training: TrainingSettings
    limits: Limits
    trainer: str
    pause: str  # how a node waits for a late result: "sleep", or "fsync" where time stands still
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    cells: CellPlan | None = None
    timeline: tuple[TimelineEvent, ...] = ()  # in order of time
    walk: Walk | None = None  # None: the clients stay where they are
    availability: Availability | None = None  # None: the clients are there all the time
    update_bytes: int = 0  # what a client sends in a round: the model, or more
    supply_bytes: int = 0  # sent to every client once: samples that the server shares
    traces: dict[str, Trace] = field(default_factory=dict)  # by the name in `LinkSpec.trace`
    traffic: tuple[Flow, ...] = ()  # beside the training
    evaluate_every: int = 1  # rounds between models that are evaluated
    stop_at: float | None = None  # end once a model is known to have this accuracy
    further_rounds: int = 1  # ... and so many more rounds were held
    slow_start_after_idle: bool = True  # of TCP
    socket_buffer: int | None = None  # bytes that a socket holds at most; None: plenty
    encryption: bool = False  # nodes prove with keys who they are, and encrypt what they send
    # How messages are packed, by tier and direction ("up", "down"), where they are at all.
    wire: dict[str, dict[str, str]] = field(default_factory=dict)
    trunks: tuple[LinkSpec, ...] = ()  # links between the routers of a graph
    routes: dict[str, dict[str, str]] = field(default_factory=dict)  # router -> goal -> next one
    provenance: Provenance | None = None  # what makes this run; nodes do not use it

    @cached_property
    def _by_name(self) -> dict[str, NodeSpec]:
        return {node.name: node for node in self.nodes}

    def node(self, name: str) -> NodeSpec:
        """The specification of the node with this name."""
        return self._by_name[name]

    @property
    def moves(self) -> bool:
        """Whether who hears whom, or who is there at all, may change during the run."""
        return (self.walk or self.availability) is not None or any(
            isinstance(event, HandoverEvent | CrashEvent | RestartEvent) for event in self.timeline
        )

    def is_evaluated(self, round: int) -> bool:
        """Whether the model of this round is one to evaluate; the last one always is."""
        return round % self.evaluate_every == 0

    @property
    def servers_down(self) -> float:
        """For how many seconds, all together, servers are down that will be restarted."""
        crashed: dict[str, float] = {}
        seconds = 0.0
        for event in self.timeline:
            if isinstance(event, CrashEvent) and self.node(event.node).children:
                crashed[event.node] = event.at
            elif isinstance(event, RestartEvent) and event.node in crashed:
                seconds += event.at - crashed.pop(event.node)
        return seconds

    @cached_property
    def links_differ(self) -> bool:
        """Whether hosts of one tier have different links."""
        kinds = {(link.tier, link.profile, link.up, link.down) for link in self.links if link.tier}
        return len(kinds) > len({tier for tier, *_ in kinds})

    def kind_of(self, link: LinkSpec) -> str:
        """Name what a host got: its link's profile, with rates and delay if others of it differ."""
        several = len(self._shapes_by_name.get((link.tier, link.profile), ())) > 1
        unnamed = link.tier and link.trace is None and (several or not link.profile)
        return f"{link.profile or ''} {link.figures}".strip() if unnamed else link.profile or ""

    @cached_property
    def _shapes_by_name(self) -> dict[tuple[str | None, str | None], set[object]]:
        """The different shapes that links of a tier have under one name."""
        found: dict[tuple[str | None, str | None], set[object]] = {}
        for link in self.links:
            found.setdefault((link.tier, link.profile), set()).add((link.up, link.down))
        return found

    @cached_property
    def tops(self) -> tuple[str, ...]:
        """The top nodes: servers that hold the global rounds, or clients without a server."""
        return tuple(
            node.name
            for node in self.nodes
            if node.parent is None and (node.children or node.role == "client")
        )

    def server_across(self, link: LinkSpec) -> NodeSpec | None:
        """Return the server that the link's host reaches over it, now or later, if any."""
        host = self.node(link.host)
        above = (self.node(name) for name, _ in (*host.servers, *host.visits))
        network = link.network_name
        return next((server for server in above if network in server.addresses), None)

    @property
    def has_large_packets(self) -> bool:
        """Whether packets stand for more than one frame anywhere."""
        return any(max(link.frames_up, link.frames_down) > 1 for link in self.links)

    @property
    def links_and_trunks(self) -> tuple[LinkSpec, ...]:
        """Every link: those of hosts, then those between the routers of a graph."""
        return (*self.links, *self.trunks)

    def attachment(self, server: NodeSpec, link: LinkSpec) -> LinkSpec:
        """Return the server's own link to the network that this link leads to."""
        return self._attachments[server.name, link.network_name]

    def path(self, link: LinkSpec) -> tuple[Hop, ...]:
        """Return the links that an update crosses from this link's host to its server."""
        server = self.server_across(link)
        if server is None:
            return (Hop(link),)
        last = self.attachment(server, link)
        return Hop(link), *self._between(link.switch, last.switch), Hop(last, leaves_host=False)

    def _between(self, switch: str, goal: str) -> Iterator[Hop]:
        """Yield the links between two routers of the graph."""
        while switch != goal:
            after = self.routes[switch][goal]
            forwards = self._trunks.get((switch, after))
            yield Hop(forwards) if forwards else Hop(self._trunks[after, switch], False)
            switch = after

    @cached_property
    def _attachments(self) -> dict[tuple[str, str], LinkSpec]:
        return {(link.host, link.network_name): link for link in self.links}

    @cached_property
    def _trunks(self) -> dict[tuple[str, str], LinkSpec]:
        return {(trunk.host, trunk.switch): trunk for trunk in self.trunks}

    @cached_property
    def shares_links(self) -> bool:
        """Whether transfers of several nodes meet on a link that is shaped."""
        return any(link.shared for link in self.links_and_trunks)

    @property
    def model_bytes(self) -> int:
        """The model's size as it travels, without header."""
        return size_of(self.tensors)

    @property
    def bytes_beside_tensors(self) -> int:
        """What a message with a model has beside its tensors that is worth counting."""
        return _ENCRYPTED_FRAME_BYTES * (1 + len(self.tensors)) if self.encryption else 0

    def trace(self, link: LinkSpec) -> Trace | None:
        """Return the trace that a link follows; None if it follows none."""
        return self.traces[link.trace] if link.trace is not None else None

    def to_json(self) -> str:
        """Return the text of plan.json."""
        parts = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return json.dumps(parts, default=_tree_of, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """Read a plan that `to_json` wrote; the two are equal."""
        return cls.from_tree(json.loads(text))

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Plan":
        """Read it from the object in plan.json."""
        cells, walk, there = tree.get("cells"), tree.get("walk"), tree.get("availability")
        typed: dict[str, Any] = {
            "nodes": tuple(map(NodeSpec.from_tree, tree["nodes"])),
            "links": tuple(map(LinkSpec.from_tree, tree["links"])),
            "trunks": tuple(map(LinkSpec.from_tree, tree.get("trunks", ()))),
            "training": TrainingSettings.from_tree(tree["training"]),
            "limits": Limits(**tree["limits"]),
            "tensors": {
                name: (dtype, tuple(shape)) for name, (dtype, shape) in tree["tensors"].items()
            },
            "cells": None if cells is None else CellPlan.from_tree(cells),
            "timeline": tuple(map(event_from_tree, tree.get("timeline", ()))),
            "walk": None if walk is None else Walk.from_tree(walk),
            "availability": None if there is None else Availability.from_tree(there),
            "traces": {
                name: Trace.from_tree(trace) for name, trace in tree.get("traces", {}).items()
            },
            "traffic": tuple(map(Flow.from_tree, tree.get("traffic", ()))),
        }
        if tree.get("provenance"):
            typed["provenance"] = Provenance.of(tree)
        return cls(**{**tree, **typed})


def _tree_of(part: Any) -> dict[str, Any]:
    """Return a part of the plan as types that JSON has."""
    tree: dict[str, Any] = part.to_tree() if hasattr(part, "to_tree") else dataclasses.asdict(part)
    return tree
