"""Read events.jsonl: every phase of every node, in order of time."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from contracts.events import Details
from reports.records.atomic_files import write_text_atomically
from reports.records.record_files import json_lines

_NUMBERS = ("round", "start", "end")


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
    named = all(isinstance(fields.get(key), str) for key in ("node", "phase"))
    return named and all(isinstance(fields.get(key), int | float) for key in _NUMBERS)


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
