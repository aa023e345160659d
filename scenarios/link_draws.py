"""Which link each host of a tier gets, where they are not all alike.

A draw depends only on the run's seed and the names of host and switch, so that another link profile
elsewhere, or one more client, does not change it.
"""

import csv
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from contracts.errors import BadInput
from netem import profiles
from scenarios import named_files, quantities
from scenarios.sections import Link, TierLink
from scenarios.suggestions import did_you_mean

_RATES = (1e3, 30e9)  # bits per second: what can be shaped
_LONGEST_DELAY = 100.0  # seconds
_COLUMNS = ("name", "weight", "rate", "rate_up", "rate_down", "delay", "jitter", "loss")


@dataclass(frozen=True)
class Table:
    """The rows of a table of links, and how often each or one before it is drawn."""

    links: Sequence[Link]
    weights: Sequence[float]


def draw(link: TierLink, seed: int, name: str) -> Link:
    """Return the link that the one with this name gets."""
    chance = random.Random(f"{seed}/link/{name}")
    if link.mix is not None:
        found = chance.choices(link.mix, [part.share for part in link.mix])[0]
        return Link.model_validate(found.model_dump(exclude={"share"}))
    if link.table is not None:
        table = load_table(link.table)
        return chance.choices(table.links, cum_weights=table.weights)[0]
    if link.spread is not None:
        return _spread(link, chance)
    return link


def _spread(link: TierLink, chance: random.Random) -> Link:
    """Multiply the rates, and the delay, each by a factor whose logarithm deviates by `spread`."""
    assert link.spread is not None
    faster, later = (math.exp(chance.gauss(0.0, link.spread)) for _ in range(2))

    def rate(text: str | None) -> str | None:
        if text is None:
            return None
        wanted = quantities.bits_per_second(text) * faster
        return f"{round(min(max(wanted, _RATES[0]), _RATES[1]))}bit"

    delay = min(quantities.seconds(link.delay) * later, _LONGEST_DELAY)
    jitter = min(quantities.seconds(link.jitter) * later, delay)
    plain = link.model_dump(exclude={"mix", "table", "spread"})
    rates = {way: rate(plain[way]) for way in ("rate", "rate_up", "rate_down")}
    return Link.model_validate(plain | rates | {"delay": delay, "jitter": jitter})


def load_table(name_or_file: str, place: str = "table") -> Table:
    """Read a table of links; BadInput names the line that is wrong."""
    path = named_files.find(name_or_file, profiles.tables(), "table", place)
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Table:
    lines = named_files.bounded(named_files.lines(path, "links"), str(path))
    first, header = next(lines, (1, ""))
    columns = _fields(header)
    for column in columns:
        if column not in _COLUMNS or columns.count(column) > 1:
            wrong = "twice" if column in _COLUMNS else "unknown"
            raise BadInput(
                f'{path}, line {first}: {wrong} column "{column}"; {did_you_mean(column, _COLUMNS)}'
            )
    rows = [_row(columns, _fields(line), f"{path}, line {number}") for number, line in lines]
    weights = list(itertools.accumulate(weight for _, weight in rows))
    if not weights or not 0 < weights[-1] < math.inf:
        raise BadInput(f"{path}: has no rows with a weight; give lines like 50mbit,10mbit,20ms")
    return Table([link for link, _ in rows], weights)


def _fields(line: str) -> list[str]:
    return [field.strip() for field in next(csv.reader([line])) or [""]]


def _row(columns: list[str], fields: list[str], place: str) -> tuple[Link, float]:
    if len(fields) != len(columns):
        raise BadInput(f"{place}: {len(fields)} values for {len(columns)} columns; add or remove")
    values = {name: field for name, field in zip(columns, fields, strict=True) if field}
    weight, name = values.pop("weight", "1"), values.pop("name", None)
    try:
        share = float(weight)
    except ValueError:
        share = -1.0
    if not 0 <= share < math.inf:
        raise BadInput(f'{place}: weight "{weight}" is no number from 0 on; correct it')
    try:
        return Link.model_validate({**values, "profile": name}), share
    except ValueError as error:
        message = str(error).splitlines()
        raise BadInput(f"{place}: {_reason(message)}; correct it") from None


def _reason(message: list[str]) -> str:
    """Return what is wrong from pydantic's lines."""
    found = next((line.strip() for line in message if line.startswith("  ")), message[0])
    return found.partition(" [type=")[0].removeprefix("Value error, ")
