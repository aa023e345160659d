"""The cost of every handover, and what became of updates in transit: handovers.csv."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import fmean

from contracts.events import Phase
from contracts.tables import HANDOVER_COLUMNS
from reports.records.atomic_files import write_text_atomically
from reports.records.events import Event

MAKE_BEFORE_BREAK = "make-before-break"

_OUTCOMES = (Phase.JOINED, Phase.ABANDONED, Phase.RESENT)


@dataclass(frozen=True)
class CompletedHandover:
    """A client's move between edge servers, and its cost until the client's next move."""

    client: str
    round: int
    start: float
    end: float  # the last link was changed
    before: tuple[str, ...]
    after: tuple[str, ...]
    mode: str
    link_seconds: float  # without any link
    service_seconds: float | None  # without any server; None: it never joined the new one
    abandoned: int  # updates for the servers it left
    resent: int  # updates sent again to the servers it came to
    position: tuple[float, float] | None  # in metres, of a client that walks


@dataclass(frozen=True)
class TimelineTotals:
    """What the timeline did to a run, counted; these become keys of summary.json."""

    handovers: int
    service_interruption_mean_seconds: float | None  # of those that joined the new server
    abandoned: int
    resent: int
    outages: int
    crashes: int
    absences: int  # how often clients went away


def completed_handovers(events: Iterable[Event]) -> list[CompletedHandover]:
    """Return all completed handovers in order of time; the events must be in that order too."""
    moves: dict[str, list[Event]] = defaultdict(list)
    outcomes: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.phase == Phase.HANDOVER:
            moves[event.node].append(event)
        elif event.phase in _OUTCOMES:
            outcomes[event.node].append(event)
    found = [
        _handover(event, after.start if after else inf, outcomes[client])
        for client, own in moves.items()
        for event, after in pairwise([*own, None])
        if event is not None
    ]
    return sorted(found, key=lambda move: move.start)


def timeline_totals(events: Sequence[Event], moves: Sequence[CompletedHandover]) -> TimelineTotals:
    """Count what happened, including updates that were lost to a crash or an outage."""
    known = [move.service_seconds for move in moves if move.service_seconds is not None]
    return TimelineTotals(
        handovers=len(moves),
        service_interruption_mean_seconds=round(fmean(known), 6) if known else None,
        abandoned=_count(events, Phase.ABANDONED),
        resent=_count(events, Phase.RESENT),
        outages=_count(events, Phase.OUTAGE),
        crashes=_count(events, Phase.CRASH),
        absences=_count(events, Phase.AWAY),
    )


def write_handovers(path: Path, moves: Iterable[CompletedHandover]) -> None:
    """Write one line for each handover."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HANDOVER_COLUMNS)
    for move in moves:
        lost = "" if move.service_seconds is None else f"{move.service_seconds:.6f}"
        ways = " ".join(move.before), " ".join(move.after), move.mode
        times = f"{move.link_seconds:.6f}", lost
        who = move.client, move.round, f"{move.start:.6f}"
        writer.writerow((*who, *ways, *times, move.abandoned, move.resent))
    write_text_atomically(path, text.getvalue())


def _handover(event: Event, until: float, outcomes: Sequence[Event]) -> CompletedHandover:
    before, after = tuple(event.fields.get("from") or ()), tuple(event.fields.get("to") or ())
    mode, position = str(event.fields.get("mode", "")), event.fields.get("position")
    left, new = set(before) - set(after), set(after) - set(before)
    joins = [e.end for e in outcomes if e.phase == Phase.JOINED and e.peer in new and e.end < until]
    during = [e for e in outcomes if event.start <= e.start < until]
    return CompletedHandover(
        client=event.node,
        round=event.round,
        start=event.start,
        end=event.end,
        before=before,
        after=after,
        mode=mode,
        link_seconds=float(event.fields.get("link_seconds") or 0.0),
        service_seconds=0.0 if left < set(before) else _without_service(event, mode, joins),
        abandoned=_count((e for e in during if e.peer in left), Phase.ABANDONED),
        resent=_count((e for e in during if e.peer in new), Phase.RESENT),
        position=(float(position[0]), float(position[1])) if position else None,
    )


def _without_service(event: Event, mode: str, joins: Sequence[float]) -> float | None:
    """Return the seconds until the first of the new servers welcomed the client."""
    # With make-before-break the old link serves until it is removed.
    lost = event.end if mode == MAKE_BEFORE_BREAK else event.start
    return min((max(0.0, end - lost) for end in joins if end >= event.start), default=None)


def _count(events: Iterable[Event], phase: str) -> int:
    return sum(event.phase == phase for event in events)
