"""The records of a spool's status.jsonl: how far the launcher has got.

The launcher writes one line for each; the runner reads them while they come (docs/spool.md). In the
file a record is a JSON object: its phase first, then its fields.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from contracts.storage import about


@dataclass(frozen=True)
class Status:
    """One record; every phase has a class of its own."""

    phase: ClassVar[str]


@dataclass(frozen=True)
class BuildingNetwork(Status):
    """The network is being built: switches, links and hosts."""

    phase = "network"
    nodes: int


@dataclass(frozen=True)
class MeasuringLinks(Status):
    """The network is up, which took `seconds`; its links are being measured."""

    phase = "probing"
    seconds: float


@dataclass(frozen=True)
class StartingNodes(Status):
    """The links are measured, which took `seconds`; the nodes start and join their servers."""

    phase = "joining"
    seconds: float


@dataclass(frozen=True)
class Training(Status):
    """All nodes have joined and the workers are ready, `seconds` later; training begins."""

    phase = "training"
    seconds: float


@dataclass(frozen=True)
class RoundEnded(Status):
    """All top servers have ended this global round; 0 is the start of the first one."""

    phase = "round"
    round: int
    elapsed: float  # emulated seconds since the first round began


@dataclass(frozen=True)
class NodeLost(Status):
    """A client is gone, and the run goes on with a quorum."""

    phase = "lost"
    node: str
    error: str


@dataclass(frozen=True)
class Done(Status):
    """The run has finished; nothing follows."""

    phase = "done"


@dataclass(frozen=True)
class Failed(Status):
    """The run ended early; nothing follows."""

    phase = "failed"
    error: str


@dataclass(frozen=True)
class CellMeasured(Status):
    """`metronome fidelity` has measured one cell of its matrix."""

    phase = "cell"
    cell: dict[str, Any]


@dataclass(frozen=True)
class StockNetworkBuilt(Status):
    """Stock Mininet has built its network in benchmarks.startup."""

    phase = "built"
    seconds: float


_BY_PHASE: Mapping[str, type[Status]] = {
    kind.phase: kind
    for kind in (
        *(BuildingNetwork, MeasuringLinks, StartingNodes, Training, RoundEnded),
        *(NodeLost, Done, Failed, CellMeasured, StockNetworkBuilt),
    )
}


def append(path: Path, status: Status) -> None:
    """Add a record to status.jsonl."""
    # Closing the file is what makes it visible outside the guest, without a costly fsync.
    with about(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"phase": status.phase, **dataclasses.asdict(status)}) + "\n")


def parse(fields: Mapping[str, Any]) -> Status:
    """Read the record in a line of status.jsonl; ValueError when it is not one."""
    values = dict(fields)
    kind = _BY_PHASE.get(str(values.pop("phase", "")))
    if kind is None or set(values) != {field.name for field in dataclasses.fields(kind)}:
        raise ValueError(f"status.jsonl: {json.dumps(fields)} is no record of a known phase")
    return kind(**values)
