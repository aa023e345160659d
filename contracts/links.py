"""Links in the plan: where each one is, and what each of its directions does to packets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any] | None) -> "Shape | None":
        """Read it from plan.json; None where the direction is not shaped."""
        return None if tree is None else cls(**tree)


@dataclass(frozen=True)
class LinkSpec:
    """A host's link to a switch; `up` leaves the host, `down` reaches it, None is not shaped."""

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

    @property
    def name(self) -> str:
        """The link's name in all records: its host and its switch."""
        return f"{self.host}-{self.switch}"

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "LinkSpec":
        """Read it from plan.json."""
        shapes = {way: Shape.from_tree(tree[way]) for way in ("up", "down")}
        return cls(**{**tree, **shapes})
