"""When clients are there and when they are away; all times are seconds from time zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Times = tuple[tuple[float, float | None], ...]  # from, until; None: to the end


@dataclass(frozen=True, kw_only=True)
class OnOff:
    """Every client comes and goes by itself, for exponential times (netem/availability.py)."""

    on: float  # the mean time that a client is there
    off: float  # the mean time that it is away
    first: float  # the probability to be there at time zero
    seed: int


@dataclass(frozen=True, kw_only=True)
class Availability:
    """Which clients come and go: all by the same process, or some at given times."""

    process: OnOff | None = None
    times: Mapping[str, Times]  # by client: when it is there, in order; others always are

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Availability":
        """Read it from plan.json."""
        return cls(
            process=None if tree["process"] is None else OnOff(**tree["process"]),
            times={
                client: tuple((start, end) for start, end in own)
                for client, own in tree["times"].items()
            },
        )
