"""Read a run's files in whatever state it left them, with one rule for each kind of file.

Files that grow line by line (events.jsonl, evaluations.jsonl, links.csv) may have been cut short: a
line counts if its end was written and it can be parsed; any other line is skipped on its own. Files
that are written at once are either complete or wrong; if they are wrong, a sentence says how.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from contracts.regular_files import open_regular_text, read_json

Row = TypeVar("Row")


class UnreadableRecord(ValueError):
    """A file of a run that does not contain what a run writes there."""

    def __init__(self, path: Path, cause: str = "is not what a run writes") -> None:
        super().__init__(f"{path.name} {cause}")
        self.path, self.cause = path, cause


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that grows line by line; nothing if there is no such file."""
    for line in _ended_lines(path):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            yield fields


def growing_table(
    path: Path, columns: Sequence[str], row: Callable[[Mapping[str, str]], Row]
) -> list[Row]:
    """Return the readable rows of a CSV file that grows; none if there is no such file."""
    found = []
    for fields in _fields(_ended_lines(path), path, columns):
        try:
            found.append(row(fields))
        except (ArithmeticError, KeyError, TypeError, ValueError):
            continue
    return found


def whole_table(
    path: Path, columns: Sequence[str], row: Callable[[Mapping[str, str]], Row]
) -> list[Row]:
    """Return the rows of a CSV file written at once; raises OSError if it cannot be opened."""
    with open_regular_text(path, errors="replace", newline="") as file:
        try:
            return [row(fields) for fields in _fields(file, path, columns)]
        except (ArithmeticError, KeyError, TypeError, ValueError, csv.Error):
            raise UnreadableRecord(path) from None


def whole_json(path: Path) -> dict[str, Any] | None:
    """Return the object in a file that was written at once; None if there is no such file."""
    try:
        found = read_json(path)
    except FileNotFoundError:
        return None
    except ValueError:
        raise UnreadableRecord(path, "is not valid JSON") from None
    if not isinstance(found, dict):
        raise UnreadableRecord(path, "holds no table")
    return found


def json_if_complete(path: Path) -> Any:
    """Return what a running run wrote there; None if the file is missing or incomplete."""
    try:
        return read_json(path)
    except (FileNotFoundError, ValueError):
        return None


def _ended_lines(path: Path) -> Iterator[str]:
    """Yield the lines whose end was written."""
    if not path.exists():
        return
    with open_regular_text(path, errors="replace") as file:
        yield from (line for line in file if line.endswith("\n"))


def _fields(lines: Iterator[str], path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield rows as text by column; extra columns are allowed, missing ones are not."""
    reader = csv.DictReader(lines)
    try:
        known = reader.fieldnames
    except csv.Error:
        raise UnreadableRecord(path) from None
    if known is not None and not set(columns) <= set(known):
        raise UnreadableRecord(path)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:  # a field longer than any that we write
            fields = {}
        # DictReader puts the excess of a row under None; such a row is two rows run together.
        yield {} if None in fields else fields
