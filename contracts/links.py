"""Links as the plan specifies them: where each one is, and what each direction does to packets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shape:
    """One direction of a link: bits per second (None: unlimited), seconds, share, packets."""

    rate: float | None
    delay: float
    jitter: float
    loss: float
    queue: int
    varies: bool = False  # with a trace: packets keep their order all the same

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any] | None) -> "Shape | None":
        """From what plan.json has; None where nothing is shaped."""
        return None if tree is None else cls(**tree)


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
        """What records call the link: its host and its switch."""
        return f"{self.host}-{self.switch}"

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "LinkSpec":
        """From what plan.json has."""
        shapes = {way: Shape.from_tree(tree[way]) for way in ("up", "down")}
        return cls(**{**tree, **shapes})
