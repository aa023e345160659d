"""The building blocks of scenario sections: values with units, the base class, and a link."""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from scenarios import quantities


def _checked_by(parse: Any) -> AfterValidator:
    """Check that a value parses, but keep it as written."""

    def check(value: Any) -> Any:
        parse(value)
        return value

    return AfterValidator(check)


def _with_unit(value: Any) -> Any:
    if isinstance(value, int | float):
        raise ValueError(f'"{value}" has no unit; write it like "20mbit"')
    return value


def _shapeable_rate(value: str) -> None:
    if not 1e3 <= quantities.bits_per_second(value) <= 30e9:
        raise ValueError(f'"{value}" cannot be shaped; give a rate from 1kbit to 30gbit')


def _shapeable_delay(value: str | float) -> None:
    if quantities.seconds(value) > 100:
        raise ValueError(f'"{value}" cannot be shaped; give a time of at most 100s')


def _loss(value: str | float) -> None:
    if quantities.share(value) >= 1:
        raise ValueError(f'"{value}" lets nothing through; an outage belongs in [[timeline]]')


def _bound(value: str | float) -> None:
    if quantities.seconds(value) <= 0:
        raise ValueError(f'"{value}" leaves no time to wait; give one above zero')


# Rates and delays are bounded by what the kernel's fields can hold.
Rate = Annotated[str, BeforeValidator(_with_unit), _checked_by(_shapeable_rate)]
Delay = Annotated[str | float, _checked_by(_shapeable_delay)]
Time = Annotated[str | float, _checked_by(quantities.seconds)]
Bound = Annotated[str | float, _checked_by(_bound)]
Share = Annotated[str | float, _checked_by(quantities.share)]
Loss = Annotated[str | float, _checked_by(_loss)]
Size = Annotated[str | int, _checked_by(quantities.size_in_bytes)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Tier = Literal["client-edge", "edge-cloud", "client-cloud"]
Shared = Literal["cloud", "edge", "cell"]  # what a server or a cell has for all that cross it
AnyLink = Literal["client-edge", "edge-cloud", "client-cloud", "cloud", "edge", "cell"]


class Section(BaseModel):
    """The base of all sections: unknown keys and wrong types are refused, never converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Link(Section):
    """One link in numbers; `profile` names the profile that filled in its values, if any."""

    profile: str | None = None
    rate: Rate | None = None
    rate_up: Rate | None = None
    rate_down: Rate | None = None
    delay: Delay = "0ms"
    jitter: Delay = "0ms"
    loss: Loss = 0.0
    queue: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    queueing: Literal["fifo", "fq_codel"] = "fifo"
    offload: bool = True  # packets of many frames, where they change no time that matters
    trace: str | None = None  # name or file: rates (delays, losses) over time
    trace_offset: Literal["none", "random"] = "none"  # where links start in it

    @model_validator(mode="after")
    def _rates_agree(self) -> "Link":
        if self.rate and (self.rate_up or self.rate_down):
            raise ValueError("give either rate, or rate_up and rate_down")
        if bool(self.rate_up) != bool(self.rate_down):
            raise ValueError("rate_up and rate_down belong together (or give rate)")
        if quantities.seconds(self.jitter) > quantities.seconds(self.delay):
            raise ValueError("jitter must not exceed delay")
        if self.trace is not None and (self.rate or self.rate_up):
            raise ValueError("a trace has the rates; take out either trace or rate")
        if self.queueing == "fq_codel" and self._delays_or_loses:
            raise ValueError(
                'queueing "fq_codel" needs a link without delay, jitter, loss and trace (the '
                "kernel keeps those in a queue of their own); put them on another link"
            )
        if self.trace is None and self.trace_offset != "none":
            raise ValueError("trace_offset is of a trace, and there is none; take it out")
        return self

    @property
    def _delays_or_loses(self) -> bool:
        delay, loss = quantities.seconds(self.delay), quantities.share(self.loss)
        return bool(delay or loss or self.trace is not None)


class MixedLink(Link):
    """One kind of link in a mix, with its share of the hosts."""

    share: Annotated[float, Field(ge=0)]


class TierLink(Link):
    """The links of a tier: all alike, or drawn for each host (scenarios/link_draws.py)."""

    mix: Annotated[list[MixedLink], Field(min_length=1)] | None = None
    table: str | None = None  # name or file: rows of rates, delays, losses and weights
    spread: Annotated[float, Field(gt=0, le=3)] | None = None  # of the logarithms around a profile

    @model_validator(mode="after")
    def _is_drawn_in_one_way(self) -> "TierLink":
        ways = [name for name in ("mix", "table", "spread") if getattr(self, name) is not None]
        if len(ways) > 1:
            raise ValueError(f"give either {' or '.join(ways)}")
        plain = [name for name in Link.model_fields if getattr(self, name) != _default(name)]
        if self.spread is None and ways and plain:
            raise ValueError(f"a {ways[0]} has the links; take out {', '.join(plain)}")
        if self.mix is not None and not any(part.share for part in self.mix):
            raise ValueError("all shares of the mix are 0; give one of them a share above 0")
        if self.spread is not None and self.trace is not None:
            raise ValueError("a trace has the rates; take out either trace or spread")
        if self.spread is not None and not (self.rate or self.rate_up or self.rate_down):
            raise ValueError("spread has no rates to draw around; give a profile or rates")
        return self


def _default(name: str) -> Any:
    return Link.model_fields[name].default
