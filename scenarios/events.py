"""The sections on what happens during a run: [[timeline]], [mobility] and [[traffic]]."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios import quantities
from scenarios.sections import Bound, Count, Link, Rate, Section, Tier, Time

Metres = Annotated[float, Field(ge=1, le=1e6)]


class HandoverOptions(Section):
    """How a client changes from the cells it is connected to, to others."""

    mode: Literal["break-before-make", "make-before-break"] = "break-before-make"
    interruption: Time = "50ms"  # break-before-make: between the last old link and the new
    hold: Time = "0s"  # make-before-break: how long the old link is kept beside the new

    @model_validator(mode="after")
    def _holds_what_it_has(self) -> "HandoverOptions":
        if self.mode == "break-before-make" and quantities.seconds(self.hold):
            raise ValueError('nothing is held after a break; use mode = "make-before-break"')
        return self


class Mobility(HandoverOptions):
    """All clients walk between random way points and connect to the cells around them."""

    model: Literal["walk"] = "walk"
    speed: Annotated[float, Field(ge=0.001, le=1000)] = 1.4  # metres per second
    dwell: Time = "0s"  # at every way point
    spacing: Metres = 200.0  # between neighbouring edge servers
    radius: Metres = 115.0  # how far a cell reaches


class ScheduledHandover(HandoverOptions):
    """At this time a client leaves its cells for others, numbered from 1, its main one first."""

    event: Literal["handover"]
    at: Time
    client: str
    to: Annotated[list[Count], Field(min_length=1)]


class LinkChange(Link):
    """From this time on, a link or all links of a tier have the values of this table."""

    event: Literal["link"]
    at: Time
    link: str | None = None
    tier: Tier | None = None

    @model_validator(mode="after")
    def _names_links_and_says_how(self) -> "LinkChange":
        if (self.link is None) == (self.tier is None):
            raise ValueError('give either link (like "client1-cell1") or tier')
        if not self.model_fields_set & Link.model_fields.keys():
            raise ValueError("nothing is said about the link; give a profile, or rate and delay")
        if self.trace is not None:
            raise ValueError("a trace cannot begin during a run; name it under [links]")
        return self


class Outage(Section):
    """A link, or all client links of a cell, carry nothing until the time given."""

    event: Literal["outage"]
    at: Time
    until: Time
    link: str | None = None
    cell: Count | None = None

    @model_validator(mode="after")
    def _names_links_and_ends(self) -> "Outage":
        if (self.link is None) == (self.cell is None):
            raise ValueError('give either link (like "client1-cell1") or cell')
        if quantities.seconds(self.until) <= quantities.seconds(self.at):
            raise ValueError(f'until "{self.until}" is not after at "{self.at}"; give a later time')
        return self


class Crash(Section):
    """A node's process is killed and loses what it had in memory."""

    event: Literal["crash"]
    at: Time
    node: str


class Restart(Section):
    """A crashed node is started again."""

    event: Literal["restart"]
    at: Time
    node: str


class Traffic(Section):
    """Background packets from one host to another on the same switch, or in a graph."""

    sender: str = Field(alias="from")
    to: str
    kind: Literal["constant", "on-off"] = "constant"
    rate: Rate  # on-off: the rate while it is on
    on: Bound | None = None  # means of the Pareto-distributed on and off times
    off: Bound | None = None
    start: Time = "0s"
    until: Time | None = None

    @model_validator(mode="after")
    def _has_its_times(self) -> "Traffic":
        has = (self.on is not None, self.off is not None)
        if self.kind == "on-off" and has != (True, True):
            raise ValueError("an on-off flow needs the means of its on and off times; give both")
        if self.kind == "constant" and any(has):
            raise ValueError('a constant flow is never off; take on and off out, or kind "on-off"')
        if self.until is not None and (
            quantities.seconds(self.until) <= quantities.seconds(self.start)
        ):
            raise ValueError(f'until "{self.until}" is not after its start; give a later time')
        return self


Event = Annotated[
    ScheduledHandover | LinkChange | Outage | Crash | Restart, Field(discriminator="event")
]
EVENT_TYPES: dict[str, type[Section]] = {
    "handover": ScheduledHandover,
    "link": LinkChange,
    "outage": Outage,
    "crash": Crash,
    "restart": Restart,
}
