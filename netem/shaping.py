"""Turns one direction of a link into queueing disciplines: HTB for the rate, netem for the rest.

    1: htb -> 1:10 class (rate) -> 10: netem (delay, jitter, loss), or pfifo or fq_codel without

The leaf holds the queue. netem keeps delayed packets in the same list as queued ones, so its
limit is the queue plus the frames that are on the way.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from contracts.links import Shape

FRAME_BYTES = 1514  # a full Ethernet frame as the queues see it
UNLIMITED_QUEUE = 100_000  # packets; the queue of a link without a rate never fills
SHORTEST_QUEUE = 64  # packets; with fewer, slow start overflows even the shortest link
SHARED_QUEUE = 1000  # packets at least where many connections meet, as Linux has for an interface
ORDERING_RATE = 4_000_000_000  # bytes per second; only a netem with a rate keeps packets in order
ROOT = 0xFFFFFFFF
_HTB, _CLASS, LEAF = 0x10000, 0x10010, 0x100000


@dataclass(frozen=True)
class Discipline:
    """A queueing discipline, or a class of one, with its options as pyroute2 names them."""

    kind: str
    handle: int
    parent: int
    options: tuple[tuple[str, Any], ...]
    is_class: bool = False


def needs_netem(shape: Shape) -> bool:
    """Tell whether this shape asks for something that only netem can do."""
    return bool(shape.delay or shape.jitter or shape.loss or shape.varies)


@cache
def disciplines(shape: Shape, burst_seconds: float, frames: int = 1) -> tuple[Discipline, ...]:
    """Return the disciplines that give an interface this shape; none when it asks for nothing.

    `frames`: as many as a packet may stand for; only netem's limit counts them.
    """
    made: list[Discipline] = []
    parent = ROOT
    if shape.rate is not None:
        made.append(Discipline("htb", _HTB, ROOT, (("default", 0x10),)))
        rate = _rate(shape.rate, burst_seconds)
        made.append(Discipline("htb", _CLASS, _HTB, tuple(rate.items()), is_class=True))
        parent = _CLASS
    if needs_netem(shape) or (frames > 1 and shape.rate is not None):
        made.append(Discipline("netem", LEAF, parent, tuple(_netem(shape).items())))
    elif shape.rate is not None:
        kind = "fq_codel" if shape.queueing == "fq_codel" else "pfifo"
        options: tuple[tuple[str, Any], ...] = (("limit", shape.queue),)
        made.append(Discipline(kind, LEAF, parent, options))
    return tuple(made)


def _rate(bits_per_second: float, burst_seconds: float) -> dict[str, Any]:
    rate = round(bits_per_second / 8)
    burst = max(FRAME_BYTES + 86, round(rate * burst_seconds))
    return {"rate": rate, "burst": burst, "cburst": burst, "quantum": FRAME_BYTES}


def _netem(shape: Shape) -> dict[str, Any]:
    options: dict[str, Any] = {
        "delay": round(shape.delay * 1e6),
        "jitter": round(shape.jitter * 1e6),
        "loss": shape.loss * 100,
    }
    if shape.rate is None:
        return options | {"limit": UNLIMITED_QUEUE}
    if shape.varies:
        # With the link's own rate here, queued packets would leave at the rate they came at. The
        # queue includes what is in flight, so that a change of the rate changes nothing but HTB.
        return options | {"limit": shape.queue, "rate": ORDERING_RATE}
    if shape.jitter:
        options["rate"] = round(shape.rate / 8)  # keeps packets in order, as a real link does
    delayed = frames_in_flight(shape.rate, shape.delay + shape.jitter)
    return options | {"limit": shape.queue + delayed}


def frames_in_flight(rate: float, delay: float) -> int:
    """Return how many full frames are on the way at that rate and delay."""
    return math.ceil(rate * delay / (8 * FRAME_BYTES))


def default_queue(rate: float | None, delay: float) -> int:
    """Return the bandwidth-delay product of the link's round trip in packets, within limits."""
    if rate is None:
        return UNLIMITED_QUEUE
    return max(SHORTEST_QUEUE, math.ceil(rate * 2 * delay / (8 * FRAME_BYTES)))
