"""Reads files that say when clients are there: CSV rows of client, from, until.

The first line may name the columns. Plain numbers are seconds from the start of the first round;
an empty `until` means to the end of the run. Lines that begin with # are left out.
"""

import contextlib
import os.path
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from contracts.availability import Times
from contracts.errors import BadInput
from scenarios import named_files, quantities

_COLUMNS = ["client", "from", "until"]
_PLACE = "availability.trace"

Row = tuple[float, float | None, int]  # from, until, the line in the file


def load(file: str, clients: Sequence[str]) -> dict[str, Times]:
    """Return when each client of the file is there; BadInput names the line that is wrong."""
    if not os.path.isfile(file):
        raise BadInput(f'{_PLACE}: there is no file "{file}"; name one of rows client, from, until')
    lines, known = named_files.lines(Path(file), "rows client, from, until"), set(clients)
    rows: dict[str, list[Row]] = defaultdict(list)
    for number, line in named_files.bounded(lines, file):
        fields = [field.strip() for field in line.split(",")]
        if fields == _COLUMNS:
            continue
        place = f"{file}, line {number}"
        if len(fields) != len(_COLUMNS):
            raise BadInput(f"{place}: has {len(fields)} fields; give client, from and until")
        if fields[0] not in known:
            raise BadInput(
                f'{place}: there is no "{fields[0]}"; the clients are {clients[0]} to {clients[-1]}'
            )
        rows[fields[0]].append((*_times(fields[1], fields[2], place), number))
    if not rows:
        raise BadInput(f"{file}: has no rows; give lines like client1, 0, 60")
    return {client: _joined(sorted(own, key=_start), client, file) for client, own in rows.items()}


def _times(start: str, end: str, place: str) -> tuple[float, float | None]:
    first, last = _seconds(start, place), None if end == "" else _seconds(end, place)
    if last is not None and last <= first:
        raise BadInput(f"{place}: until {end} is not after from {start}; give a later time")
    return first, last


def _seconds(text: str, place: str) -> float:
    value: str | float = text
    with contextlib.suppress(ValueError):
        value = float(text)  # otherwise it has a unit
    try:
        return quantities.seconds(value)
    except ValueError as error:
        raise BadInput(f"{place}: {error}") from None


def _start(row: Row) -> float:
    return row[0]


def _joined(rows: list[Row], client: str, file: str) -> Times:
    """Return a client's times, of which two that meet are one."""
    times: list[tuple[float, float | None]] = []
    for start, end, number in rows:
        before = times[-1][1] if times else 0.0
        if times and (before is None or start < before):
            raise BadInput(
                f"{file}, line {number}: {client} is there already at that time; "
                "give rows that do not overlap"
            )
        if times and start == before:
            times[-1] = (times[-1][0], end)
        else:
            times.append((start, end))
    return tuple(times)
