"""A message, what a receiver accepts, and how it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

Reason = Literal[
    "malformed",  # not a valid header, or header and frames contradict each other
    "truncated",  # less arrived than the header announces
    "version",
    "kind",
    "round",
    "oversize",
    "dtype",
    "shape",
    "missing-tensor",
    "extra-tensor",
    "checksum",
    "not-finite",
    "identity",  # the sender calls itself what it is not
    "stranger",  # a connection without a key of this run
    "claim",  # it says of itself what the plan does not say
]
REASONS: frozenset[str] = frozenset(get_args(Reason))

MAX_BYTES = 1 << 32


@dataclass(slots=True)
class Message:
    """One message: plain data in `meta`, arrays in `tensors`."""

    kind: str
    sender: str
    local_round: int
    meta: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a receiver accepts; None accepts anything that is well formed."""

    kinds: frozenset[str] | None = None
    local_round: int | None = None
    shapes: Mapping[str, tuple[str, tuple[int, ...]]] | None = None  # name -> (dtype, shape)
    max_bytes: int = MAX_BYTES  # all frames together
    plain: frozenset[str] = frozenset()  # kinds accepted in any round, which carry no tensors


class Refused(Exception):
    """A message was not accepted; `sender` is empty if the header did not name one."""

    def __init__(self, reason: Reason, detail: str, sender: str = "") -> None:
        super().__init__(f"{reason}: {detail}" + (f" (from {sender})" if sender else ""))
        self.reason: Reason = reason
        self.detail = detail
        self.sender = sender
