"""Which edge servers each client could hear over time, and who took part: membership.csv."""

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
from reports.records.atomic_files import write_text_atomically
from reports.records.events import Event
from reports.records.handovers import MAKE_BEFORE_BREAK, CompletedHandover


@dataclass(frozen=True)
class Interval:
    """A period in which a client hears the same edge servers throughout."""

    start: float
    end: float
    edges: tuple[str, ...]


class ServersInRange:
    """The edge servers that each client hears: at first by the plan, then by its handovers."""

    def __init__(self, plan: Plan, moves: Iterable[CompletedHandover]) -> None:
        own: dict[str, list[CompletedHandover]] = defaultdict(list)
        for move in moves:
            own[move.client].append(move)
        self._intervals = {
            node.name: _intervals(tuple(name for name, _ in node.servers), own[node.name])
            for node in plan.nodes
            if node.role == "client"
        }
        self.moved_clients = [client for client in self._intervals if own[client]]

    def intervals(self, client: str) -> list[Interval]:
        """Return a client's intervals from the start; the last has no end.

        An unknown client has none.
        """
        return self._intervals.get(client, [])

    def at(self, client: str, moment: float) -> tuple[str, ...]:
        """Return the edge servers that a client hears at a moment."""
        found = self.intervals(client)
        place = bisect_right(found, moment, key=lambda interval: interval.start) - 1
        return found[place].edges if place >= 0 else ()


def write_membership(path: Path, events: Sequence[Event], in_range: ServersInRange) -> None:
    """Write one line for each round of each edge server whose members were recorded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(MEMBERSHIP_COLUMNS)
    writer.writerows(_rows(events, in_range))
    write_text_atomically(path, text.getvalue())


def _rows(events: Sequence[Event], in_range: ServersInRange) -> Iterator[tuple[Any, ...]]:
    arrivals: dict[tuple[str | None, int | None], list[float]] = defaultdict(list)
    for event in events:
        if event.phase == Phase.UPLOAD:
            arrivals[event.peer, event.local_round].append(event.end)
    begun = [event for event in events if event.phase == Phase.MEMBERS]
    for event, until in zip(begun, _ends(begun), strict=True):
        members = event.fields.get("members") or []
        shared = sum(len(in_range.at(client, event.start)) > 1 for client in members)
        arrived = sum(event.start <= end < until for end in arrivals[event.node, event.local_round])
        counts = len(members) - shared, shared, arrived
        yield event.round, event.local_round, event.node, " ".join(members), *counts


def _ends(begun: Sequence[Event]) -> list[float]:
    """Return when each of these rounds was started again, for example after a server's crash."""
    again: dict[tuple[str, int | None], float] = {}
    ends = []
    for event in reversed(begun):
        key = event.node, event.local_round
        ends.append(again.get(key, inf))
        again[key] = event.start
    return ends[::-1]


def _intervals(first: tuple[str, ...], moves: Iterable[CompletedHandover]) -> list[Interval]:
    found, edges, since = [], first, -inf
    for move in moves:
        begin = max(since, move.start)
        end = max(begin, move.end)
        found += [Interval(since, begin, edges), Interval(begin, end, _between(move))]
        edges, since = move.after, end
    found.append(Interval(since, inf, edges))
    return [interval for interval in found if interval.start < interval.end]


def _between(move: CompletedHandover) -> tuple[str, ...]:
    """Return what is heard while links change: both sides, or only the servers that stay."""
    if move.mode == MAKE_BEFORE_BREAK:
        return tuple(dict.fromkeys((*move.before, *move.after)))
    return tuple(edge for edge in move.before if edge in move.after)
