"""Background flows: packets that cross the network beside those of the training."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Packets from one host to another over a switch that both are linked to, or over a graph.

    A constant flow sends all the time. An on-off flow is on and off in turn, for times that are
    Pareto distributed. Both kinds begin at `start` and end at `until` (seconds from time zero).
    """

    sender: str
    receiver: str
    switch: str
    kind: Literal["constant", "on-off"]
    rate: float  # bits per second, of an on-off flow while it is on
    on: float | None  # mean seconds that an on-off flow is on, and off
    off: float | None
    start: float
    until: float | None  # None: to the end of the run
    receiver_switch: str = ""  # in a graph: the receiver's own; empty: the same
    network: str = ""  # in which the receiver has its address; empty: that of the switch

    @property
    def first_link(self) -> str:
        """The name of the link on which its packets leave the sender."""
        return f"{self.sender}-{self.switch}"

    @property
    def last_link(self) -> str:
        """The name of the link on which its packets reach the receiver."""
        return f"{self.receiver}-{self.receiver_switch or self.switch}"

    def to_tree(self) -> dict[str, Any]:
        """Return it as plan.json has it, with the keys `from` and `to` of a scenario."""
        tree = dataclasses.asdict(self)
        return {"from": tree.pop("sender"), "to": tree.pop("receiver"), **tree}

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Flow":
        """Read it from plan.json."""
        rest = {key: value for key, value in tree.items() if key not in ("from", "to")}
        return cls(sender=tree["from"], receiver=tree["to"], **rest)
