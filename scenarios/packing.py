"""The section [wire]: how models and updates are made smaller on their way."""

from pydantic import Field, field_validator

from contracts.errors import BadInput
from contracts.plan import Plan, size_of
from protocols.packing.coding import Coding
from scenarios.sections import Section, Tier

_AS_THEY_ARE = "fp32"


class TierWire(Section):
    """What may differ from tier to tier; None leaves it to the whole section."""

    up: str | None = None  # updates: "fp32", "fp16", "int8", "topk:0.01", "topk:0.01+int8", ...
    down: str | None = None  # models, likewise

    @field_validator("up", "down")
    @classmethod
    def _is_a_packing(cls, text: str | None) -> str | None:
        if text is not None:
            Coding.parse(text)
        return text


class Wire(TierWire):
    """How messages are packed on all tiers, and what is different in one."""

    tiers: dict[Tier, TierWire] = Field(default_factory=dict)


def check(wire: Wire, tiers: tuple[Tier, ...], kind: str, trains_alone: bool) -> None:
    """Refuse tiers that the topology does not have, and packing where nothing is sent."""
    for tier in wire.tiers:
        if tier not in tiers:
            raise BadInput(
                f"wire.tiers.{tier}: a {kind} has no such part; it has {', '.join(tiers)}"
            )
    if trains_alone and planned(wire, tiers):
        raise BadInput("wire: this method's clients use no network; take it out")


def planned(wire: Wire, tiers: tuple[Tier, ...]) -> dict[str, dict[str, str]]:
    """Return how messages are packed, by tier and direction, where they are at all."""
    found: dict[str, dict[str, str]] = {}
    for tier in tiers:
        own = wire.tiers.get(tier, wire)
        ways = {"up": own.up or wire.up, "down": own.down or wire.down}
        texts = {way: text or _AS_THEY_ARE for way, text in ways.items()}
        if not all(Coding.parse(text).is_identity for text in texts.values()):
            found[tier] = texts
    return found


def smallest_message(plan: Plan, tier: str | None) -> int:
    """Return the bytes of the smaller of a model and an update as they cross this tier."""
    texts = plan.wire.get(tier or "")
    if texts is None:
        return min(plan.model_bytes, plan.update_bytes)
    up, down = (Coding.parse(texts[way]) for way in ("up", "down"))
    ways = (coding.packed_shapes(plan.tensors, plan.tensors) for coding in (up, down))
    return min(size_of(dict(shapes)) for shapes in ways)
