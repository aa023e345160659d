"""Reads trace files: CSV rows of time and rate, or Mahimahi's packet deliveries.

A CSV file has the columns time, rate (or rate_up and rate_down), delay and loss, named in its
first line or else in this order. Plain numbers are seconds, bits per second, seconds and shares;
values with a unit are read as in a scenario. A Mahimahi file has one number a line: the millisecond
at which one packet of 1504 bytes can be delivered.
"""

import itertools
import os.path
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from contracts.traces import Row, Trace
from netem import profiles
from scenarios import named_files, quantities
from scenarios.named_files import Lines
from scenarios.suggestions import did_you_mean

SHORTEST_STEP = 0.1  # seconds
_FASTEST, _LONGEST_DELAY = 30e9, 100.0  # the kernel's bounds, as in scenarios.sections
_LONGEST = named_files.MOST_ROWS * 3600.0  # seconds
_DIGITS = 15  # of a millisecond
_ROUNDING = 1e-9  # tolerance for sums of decimal times
_PACKET_BITS = 8 * 1504  # per delivery: Mahimahi, USENIX ATC 2015, section 4
_BIN_MILLISECONDS = 100
_NAMES = ("time", "rate", "rate_up", "rate_down", "delay", "loss")
_ORDER = ("time", "rate", "delay", "loss")  # of the columns in a file that does not name them


def find(name_or_file: str, place: str = "trace") -> Path:
    """Return the file of a trace that comes with Metronome, or the path itself.

    `place` says in an error message where the name was given.
    """
    return named_files.find(name_or_file, profiles.traces(), "trace", place)


def load(name_or_file: str, place: str = "trace") -> Trace:
    """Read and check a trace; BadInput names the line that is wrong."""
    path = find(name_or_file, place)
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Trace:
    return _parse(named_files.lines(path, "a trace"), str(path))


def parse(text: str, name: str) -> Trace:
    """Parse the text of a trace file; `name` is used in error messages."""
    return _parse(named_files.rows(iter(text.splitlines()), name), name)


def _parse(lines: Lines, name: str) -> Trace:
    first = next(lines, None)
    if first is None:
        raise BadInput(f"{name}: has no rows; give lines like 0, 20mbit")
    lines = itertools.chain([first], lines)
    if "," not in first[1]:
        return _from_deliveries(lines, name)
    return _from_rows(first, named_files.bounded(lines, name), name)


def _from_rows(first: tuple[int, str], lines: Lines, name: str) -> Trace:
    columns, is_header = _columns(*first, name)
    if is_header:
        next(lines)
    rows: list[Row] = []
    before: Row | None = None
    for number, line in lines:
        row = _row(columns, line.split(","), f"{name}, line {number}")
        if before is None and row.at != 0:
            raise BadInput(f"{name}, line {number}: the first time is {row.at:g}; begin at 0")
        if before is not None and row.at - before.at < SHORTEST_STEP - _ROUNDING:
            raise BadInput(
                f"{name}, line {number}: time {row.at:g} is less than {SHORTEST_STEP:g} s after "
                f"{before.at:g}; give rows in order, at most ten a second"
            )
        before = row
        rows.append(row)
    if not rows:
        raise BadInput(f"{name}: has no rows; give lines like 0, 20mbit")
    last_step = rows[-1].at - rows[-2].at if len(rows) > 1 else 1.0
    return _with_shapeable_rates(Trace(round(rows[-1].at + last_step, 9), tuple(rows)), name)


def _columns(number: int, first: str, name: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of the columns, and whether this first line has them."""
    names = tuple(field.strip() for field in first.split(","))
    if names[0] != "time":
        return _ORDER, False
    for column in names:
        if column not in _NAMES or names.count(column) > 1:
            raise BadInput(
                f'{name}, line {number}: column "{column}" is unknown or twice there; '
                f"{did_you_mean(column, _NAMES)}"
            )
    rates = {column for column in names if column.startswith("rate")}
    if rates not in ({"rate"}, {"rate_up", "rate_down"}):
        raise BadInput(f"{name}, line {number}: give a column rate, or rate_up and rate_down")
    return names, True


def _row(columns: tuple[str, ...], fields: list[str], place: str) -> Row:
    least = 2 if columns == _ORDER else len(columns)
    if not least <= len(fields) <= len(columns):
        raise BadInput(f"{place}: has {len(fields)} fields; give {', '.join(columns)}")
    texts = dict(zip(columns, (field.strip() for field in fields), strict=False))
    given = {column: _value(column, text, place) for column, text in texts.items()}
    up, down = (given["rate" if "rate" in given else way] for way in ("rate_up", "rate_down"))
    return Row(given["time"], up, down, given.get("delay"), given.get("loss"))


def _value(column: str, text: str, place: str) -> Any:
    """Read a plain number, or one with a unit."""
    read: dict[str, Callable[[str], float]] = {
        "time": quantities.seconds,
        "delay": quantities.seconds,
        "loss": quantities.share,
    }
    try:
        value = float(text)
    except ValueError:
        try:
            value = read.get(column, quantities.bits_per_second)(text)
        except ValueError as error:
            raise BadInput(f"{place}: {column} {error}") from None
    most = {"time": _LONGEST, "delay": _LONGEST_DELAY, "loss": 1.0}.get(column, _FASTEST)
    if not 0 <= value <= most:
        raise BadInput(f"{place}: {column} {text} cannot be; give 0 to {most:g}")
    return value


def _from_deliveries(lines: Lines, name: str) -> Trace:
    """Turn deliveries into a rate for every 100 ms; a shorter rest joins the last of them."""
    counts: Counter[int] = Counter()
    last = 0
    for number, line in lines:
        text = line.strip()
        if not (text.isdecimal() and len(text) <= _DIGITS) or int(text) < last:
            raise BadInput(
                f'{name}, line {number}: "{text[:_DIGITS]}" is not a millisecond at or after the '
                "one before; give one whole number a line (Mahimahi), or rows with commas (CSV)"
            )
        last = int(text)
        counts[max(last - 1, 0) // _BIN_MILLISECONDS] += 1
    if last < 1:
        raise BadInput(f"{name}: ends at 0 ms; the last line says how long the trace is")
    bins = max(1, last // _BIN_MILLISECONDS)
    if bins > named_files.MOST_ROWS:
        most = named_files.MOST_ROWS * _BIN_MILLISECONDS // 1000
        raise BadInput(f"{name}: lasts {last / 1000:.0f} s; give a part of {most} s at most")
    packets = [0] * bins
    for place, count in counts.items():
        packets[min(place, bins - 1)] += count
    step = _BIN_MILLISECONDS / 1000
    rows = []
    for place, count in enumerate(packets):
        length = step if place < bins - 1 else last / 1000 - place * step
        rate = min(_FASTEST, count * _PACKET_BITS / length)
        rows.append(Row(round(place * step, 3), rate, rate))
    # A file shorter than two bins has a single rate, which then lasts a second.
    return _with_shapeable_rates(Trace(last / 1000 if bins > 1 else 1.0, tuple(rows)), name)


def _with_shapeable_rates(trace: Trace, name: str) -> Trace:
    """Raise every rate that is too low to be shaped to `Trace.least_rate`."""
    if not any(row.rate_up for row in trace.rows) or not any(row.rate_down for row in trace.rows):
        raise BadInput(f"{name}: its rate is never above zero; an outage belongs in [[timeline]]")
    least = trace.least_rate
    raised = (
        row._replace(rate_up=max(least, row.rate_up), rate_down=max(least, row.rate_down))
        for row in trace.rows
    )
    return Trace(trace.seconds, tuple(raised))


def resolve_trace_paths(tree: Any, folder: Path) -> Any:
    """Replace names of files (traces, tables, graphs) in the scenario's folder by full paths."""
    if isinstance(tree, dict):
        return {key: _resolved_path(key, value, folder) for key, value in tree.items()}
    return [resolve_trace_paths(part, folder) for part in tree] if isinstance(tree, list) else tree


def _resolved_path(key: str, value: Any, folder: Path) -> Any:
    known = {"trace": profiles.traces, "table": profiles.tables, "file": profiles.graphs}.get(key)
    shipped = known() if known is not None else None
    if shipped is None or not isinstance(value, str) or value in shipped:
        return resolve_trace_paths(value, folder)
    path = os.path.realpath(folder / value)
    return path if os.path.isfile(path) else value
