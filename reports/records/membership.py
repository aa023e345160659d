"""Who hears which edge servers when, and who was in each of their rounds: membership.csv."""

import csv
import io
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from contracts.events import Phase
from contracts.plan import Plan
from contracts.tables import MEMBERSHIP_COLUMNS
from reports.records.atomic_files import replace_text
from reports.records.events import Event
from reports.records.handovers import MAKE_BEFORE_BREAK, Handover


@dataclass(frozen=True)
class Stretch:
    """A time in which a client hears the same edge servers all along."""

    start: float
    end: float
    edges: tuple[str, ...]


class Hearing:
    """What the plan says that each client hears, changed by its handovers."""

    def __init__(self, plan: Plan, moves: Iterable[Handover]) -> None:
        own: dict[str, list[Handover]] = defaultdict(list)
        for move in moves:
            own[move.client].append(move)
        self._stretches = {
            node.name: _stretches(tuple(name for name, _ in node.servers), own[node.name])
            for node in plan.nodes
            if node.role == "client"
        }
        self.moved = [client for client in self._stretches if own[client]]

    def stretches(self, client: str) -> list[Stretch]:
        """From the run's start on, the last one without an end; none for an unknown client."""
        return self._stretches.get(client, [])

    def at(self, client: str, moment: float) -> tuple[str, ...]:
        """The edge servers that it hears then."""
        found = self.stretches(client)
        place = bisect_right(found, moment, key=lambda stretch: stretch.start) - 1
        return found[place].edges if place >= 0 else ()


def write_membership(path: Path, events: Sequence[Event], hearing: Hearing) -> None:
    """A line for each round of each edge server whose members are on record."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(MEMBERSHIP_COLUMNS)
    writer.writerows(_rows(events, hearing))
    replace_text(path, text.getvalue())


def _rows(events: Sequence[Event], hearing: Hearing) -> Iterator[tuple[Any, ...]]:
    arrivals: dict[tuple[str | None, int | None], list[float]] = defaultdict(list)
    for event in events:
        if event.phase == Phase.UPLOAD:
            arrivals[event.peer, event.local_round].append(event.end)
    begun = [event for event in events if event.phase == Phase.MEMBERS]
    for event, until in zip(begun, _ends(begun), strict=True):
        members = event.fields.get("members") or []
        shared = sum(len(hearing.at(client, event.start)) > 1 for client in members)
        arrived = sum(event.start <= end < until for end in arrivals[event.node, event.local_round])
        counts = len(members) - shared, shared, arrived
        yield event.round, event.local_round, event.node, " ".join(members), *counts


def _ends(begun: Sequence[Event]) -> list[float]:
    """When each of these rounds was begun again, as by a server that had crashed."""
    again: dict[tuple[str, int | None], float] = {}
    ends = []
    for event in reversed(begun):
        key = event.node, event.local_round
        ends.append(again.get(key, inf))
        again[key] = event.start
    return ends[::-1]


def _stretches(first: tuple[str, ...], moves: Iterable[Handover]) -> list[Stretch]:
    found, edges, since = [], first, -inf
    for move in moves:
        begin = max(since, move.start)
        end = max(begin, move.end)
        found += [Stretch(since, begin, edges), Stretch(begin, end, _between(move))]
        edges, since = move.after, end
    found.append(Stretch(since, inf, edges))
    return [stretch for stretch in found if stretch.start < stretch.end]


def _between(move: Handover) -> tuple[str, ...]:
    """What is heard while links change: both sides, or only what stays."""
    if move.mode == MAKE_BEFORE_BREAK:
        return tuple(dict.fromkeys((*move.before, *move.after)))
    return tuple(edge for edge in move.before if edge in move.after)
