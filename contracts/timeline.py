"""What happens during a run, and when: timeline events, and how clients walk between cells.

All times are seconds; `at` counts from time zero, the start of the first round.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contracts.links import Shape

HandoverMode = Literal["break-before-make", "make-before-break"]


@dataclass(frozen=True, kw_only=True)
class HandoverSettings:
    """How a client changes from the cells that it hears to others."""

    mode: HandoverMode
    interruption: float  # break-before-make: from losing the last link to having the new one
    hold: float  # make-before-break: how long the old link is kept beside the new one


@dataclass(frozen=True, kw_only=True)
class HandoverEvent(HandoverSettings):
    """A client moves to the cells of these edge servers; the first one is its own from then on."""

    at: float
    client: str
    to: tuple[str, ...]
    event: Literal["handover"] = "handover"


@dataclass(frozen=True, kw_only=True)
class LinkChangeEvent:
    """These links get new shapes, and keep them."""

    at: float
    links: tuple[str, ...]
    up: Shape
    down: Shape
    profile: str | None
    event: Literal["link"] = "link"


@dataclass(frozen=True, kw_only=True)
class OutageEvent:
    """These links carry nothing until the end of the outage."""

    at: float
    until: float
    links: tuple[str, ...]
    what: str  # for the records: the one link, or the cell
    event: Literal["outage"] = "outage"


@dataclass(frozen=True, kw_only=True)
class CrashEvent:
    """A node's process ends at once and loses all that it had in memory."""

    at: float
    node: str
    event: Literal["crash"] = "crash"


@dataclass(frozen=True, kw_only=True)
class RestartEvent:
    """A node that crashed starts anew."""

    at: float
    node: str
    event: Literal["restart"] = "restart"


TimelineEvent = HandoverEvent | LinkChangeEvent | OutageEvent | CrashEvent | RestartEvent

_KINDS: dict[str, type[TimelineEvent]] = {
    kind.event: kind
    for kind in (HandoverEvent, LinkChangeEvent, OutageEvent, CrashEvent, RestartEvent)
}


def event_from_tree(tree: Mapping[str, Any]) -> TimelineEvent:
    """Read an event from plan.json; its key `event` says which kind it is."""
    typed: dict[str, Any] = {key: tuple(tree[key]) for key in ("to", "links") if key in tree}
    typed |= {way: Shape(**tree[way]) for way in ("up", "down") if way in tree}
    return _KINDS[tree["event"]](**{**tree, **typed})


@dataclass(frozen=True, kw_only=True)
class Walk(HandoverSettings):
    """Clients walk between random way points, and hear the cells around them (netem.mobility)."""

    speed: float  # metres per second
    dwell: float  # seconds at every way point
    spacing: float  # metres between neighbouring edge servers
    radius: float  # metres that a cell reaches
    seed: int
    hears_all: bool  # a client belongs to all cells that it hears, not only to its own
    homes: tuple[tuple[int, ...], ...]  # by client: the cells (from 0) that it hears at first

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Walk":
        """Read it from plan.json."""
        return cls(**{**tree, "homes": tuple(map(tuple, tree["homes"]))})
