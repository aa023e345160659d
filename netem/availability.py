"""Clients that come and go: when each of them leaves and is back.

With a process, a client is there for a time drawn from an exponential distribution, away for
another, and so on. What a client does depends only on the seed and on its name.
"""

import heapq
import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contracts.availability import Availability, OnOff, Times


class Change(NamedTuple):
    """From this time on a client is there, or it is not."""

    at: float
    client: str
    there: bool


def changes(availability: Availability, clients: Iterable[str]) -> Iterator[Change]:
    """Yield who leaves and who comes, in order of time; who is away at first leaves at 0."""
    return heapq.merge(*(changes_of(availability, client) for client in clients))


def changes_of(availability: Availability, client: str) -> Iterator[Change]:
    """Yield the changes of one client, who would otherwise be there all the time."""
    if availability.process is not None:
        return _drawn(availability.process, client)
    if client in availability.times:
        return _given(availability.times[client], client)
    return iter(())


def away_at_first(availability: Availability, client: str) -> bool:
    """Tell whether a client is away when the first round starts."""
    first = next(changes_of(availability, client), None)
    return first is not None and first.at == 0


def _drawn(process: OnOff, client: str) -> Iterator[Change]:
    draw = random.Random(f"{process.seed}/availability/{client}")
    moment, there = 0.0, draw.random() < process.first
    if not there:
        yield Change(moment, client, there)
    while True:
        moment += draw.expovariate(1 / (process.on if there else process.off))
        there = not there
        yield Change(moment, client, there)


def _given(times: Times, client: str) -> Iterator[Change]:
    if times[0][0] > 0:
        yield Change(0.0, client, there=False)
    for start, end in times:
        if start > 0:
            yield Change(start, client, there=True)
        if end is not None:
            yield Change(end, client, there=False)
