"""The section [transport]: how TCP behaves, on all links or on those of a tier."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, model_validator

from contracts.errors import BadInput
from contracts.links import LinkSpec
from scenarios import quantities
from scenarios.sections import Section, Size, Tier

_SMALLEST_BUFFER, _LARGEST_BUFFER = 4096, 1 << 30


class TierTransport(Section):
    """What may differ from tier to tier; None leaves it to the kernel, or to the whole section."""

    congestion: Literal["cubic", "reno", "bbr"] | None = None  # what the guest's kernel has
    initial_window: Annotated[int, Field(ge=1, le=1000)] | None = None  # segments


class Transport(TierTransport):
    """How TCP behaves at all nodes, and what is different in a tier."""

    slow_start_after_idle: bool = True  # a connection that was idle begins with a small window
    offload: bool = True  # packets of many frames on fast links (netem.offload)
    encryption: bool = True  # nodes prove with keys who they are (docs/wire.md)
    buffer: Size | None = None  # the most that a socket holds, sending or receiving
    tiers: dict[Tier, TierTransport] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _holds_a_packet(self) -> "Transport":
        if self.buffer is not None:
            size = quantities.size_in_bytes(self.buffer)
            if not _SMALLEST_BUFFER <= size <= _LARGEST_BUFFER:
                raise ValueError(f'buffer: "{self.buffer}" is not from 4kb to 1gb; correct it')
        return self


def check(transport: Transport, tiers: tuple[Tier, ...], kind: str) -> None:
    """Refuse tiers that the topology does not have."""
    for tier in transport.tiers:
        if tier not in tiers:
            raise BadInput(
                f"transport.tiers.{tier}: a {kind} has no such part; it has {', '.join(tiers)}"
            )


def applied(transport: Transport, links: tuple[LinkSpec, ...]) -> tuple[LinkSpec, ...]:
    """Return the links with their congestion control and window, a server's own cable included.

    What a server sends to a tier leaves by its own cable: that has the tier's settings too.
    """
    tier_at = {link.switch: link.tier for link in links if link.tier is not None}
    made = []
    for link in links:
        tier = link.tier or tier_at.get(link.switch)
        own = next((found for name, found in transport.tiers.items() if name == tier), transport)
        made.append(
            replace(
                link,
                congestion=own.congestion or transport.congestion,
                initial_window=own.initial_window or transport.initial_window,
            )
        )
    return tuple(made)
