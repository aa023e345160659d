"""How runs and comparisons look in a notebook: a figure, and a table of names and values."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """A figure in PNG, which a notebook shows."""

    path: Path

    def _repr_png_(self) -> bytes:
        return self.path.read_bytes()

    def __repr__(self) -> str:
        return f"Figure({str(self.path)!r})"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return an HTML table."""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def _text(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
