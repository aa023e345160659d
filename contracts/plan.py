"""What the planner decided, as plain data: every node and every link with its numbers.

The plan crosses into the guest as JSON, where pydantic is not wanted: importing it there costs a
second.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from contracts.traces import Trace


def size_of(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Bytes of tensors with these types and shapes."""
    return sum(np.dtype(kind).itemsize * math.prod(shape) for kind, shape in tensors.values())


@dataclass(frozen=True)
class Shape:
    """One direction of a link: bits per second (None: unlimited), seconds, share, packets."""

    rate: float | None
    delay: float
    jitter: float
    loss: float
    queue: int
    varies: bool = False  # with a trace: packets keep their order all the same


@dataclass(frozen=True)
class LinkSpec:
    """A host's link to a switch; `up` leaves the host, `down` reaches it; None is not shaped."""

    host: str
    switch: str
    tier: str | None
    profile: str | None
    up: Shape | None
    down: Shape | None
    trace: str | None = None  # one of the plan's; up and down are as before time zero then
    trace_row: int = 0  # where in the trace it is at time zero

    @property
    def name(self) -> str:
        return f"{self.host}-{self.switch}"


@dataclass(frozen=True)
class NodeSpec:
    """A process with a role: where it is, whom it serves, and what its computing costs."""

    name: str
    role: str
    index: int
    parent: str | None
    parent_address: str | None
    children: tuple[str, ...]
    addresses: dict[str, str]  # switch -> address
    device: str
    seconds_per_step: float
    memory_bytes_per_second: float
    samples: int
    others: tuple[tuple[str, str], ...] = ()  # more servers that it hears: name, address
    visits: tuple[tuple[str, str], ...] = ()  # servers that it may come to hear later
    extra_seconds: tuple[float, ...] = ()  # of successive steps under the method's rule, a cycle

    @property
    def servers(self) -> tuple[tuple[str, str], ...]:
        """All servers above it with their addresses, its own first."""
        if self.parent is None or self.parent_address is None:
            return ()
        return ((self.parent, self.parent_address), *self.others)

    def rule_seconds(self, steps: int) -> float:
        """What the method's rule adds to so many training steps."""
        if not self.extra_seconds:
            return 0.0
        cycles, rest = divmod(steps, len(self.extra_seconds))
        return cycles * math.fsum(self.extra_seconds) + math.fsum(self.extra_seconds[:rest])


@dataclass(frozen=True)
class Plan:
    """Everything that is needed inside the network."""

    run: str
    clock: str
    seed: int
    protocol: str
    rounds: int
    topology: str
    topology_numbers: dict[str, Any]
    nodes: tuple[NodeSpec, ...]
    links: tuple[LinkSpec, ...]
    settings: dict[str, Any]
    training: dict[str, Any]
    limits: dict[str, Any]
    trainer: str
    pause: str  # how a node waits for a late result: "sleep", or "fsync" where time stands still
    tensors: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    # On cells: {"edges": [...], "main_classes": {edge: [...]}, "rho": [...], "global": bool}
    cells: dict[str, Any] | None = None
    timeline: tuple[dict[str, Any], ...] = ()  # what happens when, in order; see netem.timeline
    walk: dict[str, Any] | None = None  # how the clients move, when they do; see netem.mobility
    update_bytes: int = 0  # what a client sends in a round: the model, or more
    supply_bytes: int = 0  # what every client is sent once: samples that the server shares
    traces: dict[str, dict[str, Any]] = field(default_factory=dict)  # by name: seconds, rows
    traffic: tuple[dict[str, Any], ...] = ()  # beside the training; see netem.background

    @cached_property
    def _by_name(self) -> dict[str, NodeSpec]:
        return {node.name: node for node in self.nodes}

    def node(self, name: str) -> NodeSpec:
        return self._by_name[name]

    @property
    def moves(self) -> bool:
        """Whether who hears whom, or who is there at all, may change during the run."""
        changes = ("handover", "crash", "restart")
        return self.walk is not None or any(e["event"] in changes for e in self.timeline)

    @cached_property
    def tops(self) -> tuple[str, ...]:
        """Those that nobody is above: servers that hold the global rounds, or clients alone."""
        return tuple(
            node.name
            for node in self.nodes
            if node.parent is None and (node.children or node.role == "client")
        )

    def server_across(self, link: LinkSpec) -> NodeSpec | None:
        """The server that the link's host reaches over it, if it ever does."""
        host = self.node(link.host)
        above = (self.node(name) for name, _ in (*host.servers, *host.visits))
        return next((server for server in above if link.switch in server.addresses), None)

    @property
    def model_bytes(self) -> int:
        """The model's size as it travels, without header."""
        return size_of(self.tensors)

    def trace(self, link: LinkSpec) -> Trace | None:
        """What that link follows, if anything."""
        return self._traces[link.trace] if link.trace is not None else None

    @cached_property
    def _traces(self) -> dict[str, Trace]:
        return {name: Trace.of(**found) for name, found in self.traces.items()}

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        tree = json.loads(text)
        tree["nodes"] = tuple(
            NodeSpec(
                **node
                | {
                    "children": tuple(node["children"]),
                    "others": tuple((name, at) for name, at in node.get("others", ())),
                    "visits": tuple((name, at) for name, at in node.get("visits", ())),
                    "extra_seconds": tuple(node.get("extra_seconds", ())),
                }
            )
            for node in tree["nodes"]
        )
        tree["links"] = tuple(
            LinkSpec(
                **link | {way: Shape(**link[way]) if link[way] else None for way in ("up", "down")}
            )
            for link in tree["links"]
        )
        tree["tensors"] = {
            name: (dtype, tuple(shape)) for name, (dtype, shape) in tree["tensors"].items()
        }
        for key in ("timeline", "traffic"):
            tree[key] = tuple(tree.get(key, ()))
        return cls(**tree)
