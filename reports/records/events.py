"""Read events.jsonl: every phase of every node, in order of time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, cast

from contracts.events import Details
from reports.records.atomic_files import write_text_atomically
from reports.records.record_files import json_lines

_LARGEST = 2**53  # up to here every whole number is a float as well
# What the fields are whose values are computed with; others are only shown.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "local_round": (int, NoneType),
    "peer": (str, NoneType),
    "bytes": (int, NoneType),
    "modelled": (int, float),
    "overrun": (int, float),
    "link_seconds": (int, float),
    "members": (list,),
    "missing": (list,),
    "links": (list,),
    "from": (list,),
    "to": (list,),
}


@dataclass(frozen=True, slots=True)
class Event:
    """One phase or note; `fields` holds everything that its line contains."""

    node: str
    phase: str
    round: int
    start: float
    end: float
    local_round: int | None
    peer: str | None
    fields: Details

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start

    @property
    def bytes(self) -> int:
        """The payload that was transferred, if any."""
        return int(self.fields.get("bytes") or 0)


def read_events(path: Path) -> list[Event]:
    """Return all readable events, sorted by start, end, node and phase."""
    events = [_event(fields) for fields in json_lines(path) if _is_event(fields)]
    # Ties are broken by the line itself, so that equal runs give equal files.
    return sorted(events, key=lambda e: (e.start, e.end, e.node, e.phase, json.dumps(e.fields)))


def write_events(path: Path, events: list[Event]) -> None:
    """Write one line for each event, in the given order."""
    write_text_atomically(path, "".join(json.dumps(event.fields) + "\n" for event in events))


def _is_event(fields: dict[str, Any]) -> bool:
    """Whether a line says who did what when, in numbers that time can be."""
    named = all(isinstance(fields.get(key), str) for key in ("node", "phase"))
    times = fields.get("start"), fields.get("end")
    return (
        named
        and type(fields.get("round")) is int
        and all(isinstance(moment, int | float) and abs(moment) <= _LARGEST for moment in times)
        and all(isinstance(fields[key], kind) for key, kind in _KINDS.items() if key in fields)
    )


def _event(fields: dict[str, Any]) -> Event:
    return Event(
        node=fields["node"],
        phase=fields["phase"],
        round=fields["round"],
        start=fields["start"],
        end=fields["end"],
        # Records of schema 1 call it `number`.
        local_round=fields.get("local_round", fields.get("number")),
        peer=fields.get("peer"),
        fields=cast(Details, fields),
    )
