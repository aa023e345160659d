"""Links in the plan: where each one is, and what each of its directions does to packets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_INTERFACE_NAME = 15  # Linux: IFNAMSIZ without the terminating zero


@dataclass(frozen=True)
class Shape:
    """What one direction of a link does to packets.

    The rate is in bits per second (None: unlimited), delay and jitter in seconds, the loss is a
    share, and the queue is in packets.
    """

    rate: float | None
    delay: float
    jitter: float
    loss: float
    queue: int
    varies: bool = False  # it follows a trace; packets keep their order nevertheless
    queueing: str = "fifo"  # or "fq_codel": flows take turns

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any] | None) -> "Shape | None":
        """Read it from plan.json; None where the direction is not shaped."""
        return None if tree is None else cls(**tree)


@dataclass(frozen=True)
class LinkSpec:
    """A host's link to a switch; `up` leaves the host, `down` reaches it, None is not shaped.

    In a graph there are also links between two switches; the first then stands for the host.
    """

    host: str
    switch: str
    tier: str | None
    profile: str | None
    up: Shape | None
    down: Shape | None
    trace: str | None = None  # a trace of the plan; `up` and `down` then hold before time zero
    trace_row: int = 0  # the row of the trace at time zero
    congestion: str | None = None  # TCP's congestion control; None: the kernel's default
    initial_window: int | None = None  # segments; None: the kernel's default
    shared: str | None = None  # where its time is booked if nodes share it: a setting, or its name
    offload: bool = True  # packets may stand for many frames, where that changes nothing else
    frames_up: int = 1  # that a packet stands for at most
    frames_down: int = 1
    network: str = ""  # that the host has an address in; empty: the switch is all of it

    @property
    def name(self) -> str:
        """The link's name in all records: its host and its switch."""
        return f"{self.host}-{self.switch}"

    @property
    def network_name(self) -> str:
        """The network in which its host has an address."""
        return self.network or self.switch

    @property
    def is_trunk(self) -> bool:
        """Whether it connects two routers of a graph."""
        return self.shared == self.name

    @property
    def figures(self) -> str:
        """Its rates up and down in Mbit/s, and its delay, like 3.552/10.66 Mbit/s 38.2 ms."""
        if self.up is None or self.down is None:
            return "not shaped"
        rates = (f"{way.rate / 1e6:.4g}" if way.rate else "any" for way in (self.up, self.down))
        return f"{'/'.join(rates)} Mbit/s {1000 * self.up.delay:.3g} ms"

    @property
    def place(self) -> str | None:
        """Where its time is booked: its tier, or what is shared; None if nothing is shaped."""
        return self.tier or self.shared

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "LinkSpec":
        """Read it from plan.json."""
        shapes = {way: Shape.from_tree(tree[way]) for way in ("up", "down")}
        return cls(**{**tree, **shapes})


@dataclass(frozen=True)
class Hop:
    """A link on the way of updates to a server; models come back the other way."""

    link: LinkSpec
    leaves_host: bool = True  # False: updates cross it from its switch to its host

    @property
    def to_server(self) -> Shape | None:
        """What it does to updates."""
        return self.link.up if self.leaves_host else self.link.down

    @property
    def from_server(self) -> Shape | None:
        """What it does to models."""
        return self.link.down if self.leaves_host else self.link.up
