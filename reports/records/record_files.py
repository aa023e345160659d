"""How files of a run are read, whatever state it left them in: one rule for each kind.

Files that grow line by line (events.jsonl, evaluations.jsonl, links.csv) may have been cut short: a
line counts when its end was written and it can be read, and any other costs only itself. Files that
are written in one go are either whole or wrong: what is wrong with them is said in a sentence.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Row = TypeVar("Row")


class UnreadableRecord(ValueError):
    """A file of a run that is not what a run writes."""

    def __init__(self, path: Path, cause: str = "is not what a run writes") -> None:
        super().__init__(f"{path.name} {cause}")
        self.path, self.cause = path, cause


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that grows line by line; none when there is no such file."""
    for line in _ended_lines(path):
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        if isinstance(fields, dict):
            yield fields


def growing_table(
    path: Path, columns: Sequence[str], row: Callable[[Mapping[str, str]], Row]
) -> list[Row]:
    """The rows of a CSV file that grows, as far as they can be read; none without such a file."""
    found = []
    for fields in _fields(_ended_lines(path), path, columns):
        try:
            found.append(row(fields))
        except (KeyError, TypeError, ValueError):
            continue
    return found


def whole_table(
    path: Path, columns: Sequence[str], row: Callable[[Mapping[str, str]], Row]
) -> list[Row]:
    """The rows of a CSV file that was written in one go; OSError when it cannot be opened."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        try:
            return [row(fields) for fields in _fields(file, path, columns)]
        except (KeyError, TypeError, ValueError):
            raise UnreadableRecord(path) from None


def whole_json(path: Path) -> dict[str, Any] | None:
    """The object in a file that was written in one go; None without such a file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        raise UnreadableRecord(path, "is not valid JSON") from None
    if not isinstance(found, dict):
        raise UnreadableRecord(path, "holds no table")
    return found


def json_if_complete(path: Path) -> Any:
    """What a run wrote there while it went on; None when it did not come so far as to end it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _ended_lines(path: Path) -> Iterator[str]:
    """Those whose end was written."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        yield from (line for line in file if line.endswith("\n"))


def _fields(lines: Iterator[str], path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Rows as text by column, also of more columns than these; UnreadableRecord with fewer."""
    reader = csv.DictReader(lines)
    if reader.fieldnames is not None and not set(columns) <= set(reader.fieldnames):
        raise UnreadableRecord(path)
    for fields in reader:
        # A row that is too long has its rest under None: two rows that were run together.
        yield {} if None in fields else fields
