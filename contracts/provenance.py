"""What made a run: the `provenance` object of plan.json and summary.json (docs/provenance.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Provenance:
    """All that can make two runs of one scenario and seed differ, besides the wall clock."""

    schema: int = 1  # of the records; see contracts/schema.py
    version: str = UNKNOWN
    commit: str = UNKNOWN  # of the tree that Metronome was started from
    changed: bool | None = None  # whether that tree differed from its commit; None: not known
    kernel: str = UNKNOWN  # that the emulated network ran on: the guest's, or the host's
    torch: str = UNKNOWN
    engine: str = UNKNOWN  # what plain local training was done by
    processor: str = UNKNOWN

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Provenance":
        """As plan.json or summary.json has it; keys that are missing there are not known.

        Records from before there was such an object are of schema 1 and may name the engine.
        """
        found = record.get("provenance")
        if not isinstance(found, Mapping):
            return cls(engine=str(record.get("engine", UNKNOWN)))
        kinds = {"schema": int, "changed": bool}
        names = [field.name for field in fields(cls)]
        return cls(**{n: found[n] for n in names if isinstance(found.get(n), kinds.get(n, str))})
