"""A run's tables as columns: a list for each, or a pandas DataFrame where pandas is installed."""

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.records.record_files import growing_table, json_lines

Columns = dict[str, list[Any]]


def of_table(path: Path, needed: Sequence[str]) -> Columns:
    """Return the columns of a CSV file of a run; none if there is no such file."""
    return of_rows(growing_table(path, needed, numbers))


def of_lines(path: Path) -> Columns:
    """Return the columns of a file with a JSON object in each line; what one lacks is None."""
    return of_rows(list(json_lines(path)))


def of_rows(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """Return the columns of these rows, in the order in which their names first come."""
    found = list(rows)
    names = dict.fromkeys(name for row in found for name in row)
    return {name: [row.get(name) for row in found] for name in names}


def frame(columns: Columns) -> Any:
    """Return a pandas DataFrame, or the columns as they are where pandas is not installed."""
    if importlib.util.find_spec("pandas") is None:
        return columns
    return importlib.import_module("pandas").DataFrame(columns)


def numbers(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of text with numbers where its cells are some."""
    return {name: _number(text) for name, text in row.items()}


def _number(text: str) -> Any:
    """Return a cell as the number that it is, None for an empty one, and else its text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None
