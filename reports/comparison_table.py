"""A comparison for the terminal and as Markdown."""

import re
from collections.abc import Iterator
from itertools import chain, compress

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.comparison import Comparison, Section
from reports.comparison_cells import (
    HALF,
    IN_ROUNDS,
    RISE,
    ROLLING,
    TRAINING,
    Unit,
    cells,
    headers,
    heading,
    notes,
    unit_of_time,
)

_STYLES = {"exact": "green", "good": "green", "distorted": "bold red"}
_ROOMY, _WIDE, _WIDEST = 96, 124, 150  # columns
_BREAK = re.compile(
    r" (?=target( \(|$)|in all|%|rounds \()|(?<=speed-)"
)  # where headers are broken


def show(comparison: Comparison, console: Console) -> None:
    """One table for each section, then what has to be known besides."""
    time = unit_of_time(comparison)
    for section in comparison.sections:
        console.print(section_table(section, time, console.width))
        for note in notes(section):
            console.print(Text(f"  {note}", style="italic"))
        console.print()
    for words in comparison.warnings:
        console.print(Text(f"warning: {words}", style="yellow"), soft_wrap=True)
    for words in comparison.notes:
        console.print(Text(words, style="italic"), soft_wrap=True)
    for words in _left_out(comparison):
        console.print(Text(words, style="red"), soft_wrap=True)


def section_table(section: Section, time: Unit, width: int) -> Table:
    """What can wrap is the label and the time; what there is no room for is left out."""
    narrow = width < _ROOMY
    table = Table(
        title=Text(heading(section), style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0 if narrow else (0, 1),
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )
    names = headers(section, time)
    shown = [_fits(name, section, width) for name in names]
    for name in compress(names, shown):
        table.add_column(
            _BREAK.sub("\n", name, count=1),
            no_wrap=name != "variant" and not name.startswith("time"),
            overflow="fold",
            justify="left" if name in ("variant", "fidelity") else "right",
            style="bold" if name == "variant" else None,
        )
    for group in section.groups:
        *others, verdict = compress(cells(section, group, time), shown)
        words = (Text(cell.replace(" (", "\n(")) for cell in others)
        table.add_row(*words, Text(verdict, style=_STYLES.get(verdict, "yellow")))
    return table


def _fits(header: str, section: Section, width: int) -> bool:
    """The rise stands in a wide table, or in place of what has to do with a target."""
    if header.startswith((ROLLING, RISE, HALF)):
        return width >= _WIDE or not section.aims
    if header in (IN_ROUNDS, TRAINING) and width < _WIDEST:
        return False
    if header.endswith("B to target"):
        return width >= _ROOMY and section.aims
    return section.aims or not header.startswith(("rounds", "time", "speed-up"))


def markdown(comparison: Comparison) -> str:
    """GitHub's tables, one for each section."""
    time = unit_of_time(comparison)
    parts = ["\n".join(_markdown_section(section, time)) for section in comparison.sections]
    remarks = chain(comparison.warnings, comparison.notes, _left_out(comparison))
    if listed := "\n".join(f"- {escaped(words)}" for words in remarks):
        parts.append(listed)
    return "\n\n".join(parts) + "\n"


def _markdown_section(section: Section, time: Unit) -> Iterator[str]:
    names = headers(section, time)
    yield f"### {escaped(heading(section))}"
    yield ""
    yield markdown_line(names)
    yield markdown_line(["---" if name in ("variant", "fidelity") else "---:" for name in names])
    for group in section.groups:
        yield markdown_line(cells(section, group, time))
    for note in notes(section):
        yield ""
        yield escaped(note)


def _left_out(comparison: Comparison) -> Iterator[str]:
    for run in comparison.left_out:
        yield f"left out: {run.path}: {run.cause}"


def markdown_line(words: list[str]) -> str:
    """A row of GitHub's tables."""
    return f"| {' | '.join(map(escaped, words))} |"


def escaped(words: str) -> str:
    """So that Markdown takes no sign of it for one of its own."""
    plain = " ".join(words.split())
    return "".join(f"\\{sign}" if sign in "\\|*_`<>[]" else sign for sign in plain)
