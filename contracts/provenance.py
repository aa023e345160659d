"""What made a run: the `provenance` object of plan.json and summary.json (docs/provenance.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

UNKNOWN = "unknown"


@dataclass(frozen=True)
class PluginUsed:
    """A plug-in that a run was given: its name, where it came from, and what was in it."""

    name: str
    path: str
    digest: str  # SHA-256 of a file; of a package, of the names and contents of all its files


@dataclass(frozen=True)
class Provenance:
    """Everything besides the wall clock that can make two runs of a scenario and seed differ."""

    schema: int = 1  # of the records; see contracts/schema.py
    version: str = UNKNOWN
    commit: str = UNKNOWN  # of the tree that Metronome was started from
    changed: bool | None = None  # whether that tree differed from its commit; None: not known
    kernel: str = UNKNOWN  # that the emulated network ran on: the guest's, or the host's
    torch: str = UNKNOWN
    engine: str = UNKNOWN  # what plain local training was done by
    processor: str = UNKNOWN
    python: str = UNKNOWN  # that the nodes ran on, with its build; not in records before 0.3
    plugins: tuple[PluginUsed, ...] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Provenance":
        """Read it from plan.json or summary.json; what is missing there is unknown.

        Older records do not have this object: they are of schema 1 and may name the engine.
        """
        found = record.get("provenance")
        if not isinstance(found, Mapping):
            return cls(engine=str(record.get("engine", UNKNOWN)))
        kinds = {"schema": int, "changed": bool}
        names = [field.name for field in fields(cls) if field.name != "plugins"]
        plain = {n: found[n] for n in names if isinstance(found.get(n), kinds.get(n, str))}
        return cls(**plain, plugins=tuple(_plugins(found.get("plugins"))))


def _plugins(found: Any) -> Iterator[PluginUsed]:
    keys = [field.name for field in fields(PluginUsed)]
    for one in found if isinstance(found, list) else ():
        if isinstance(one, Mapping) and all(isinstance(one.get(key), str) for key in keys):
            yield PluginUsed(*(one[key] for key in keys))
