"""The table of a comparison for the terminal and as Markdown."""

from collections.abc import Iterator
from itertools import chain

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.comparison.groups import Comparison, Section
from reports.comparison.paired import paired_notes
from reports.comparison.paired_accuracy import paired_accuracy_notes
from reports.comparison.table_cells import Column, Unit, columns, heading, notes, unit_of_time

_STYLES = {"exact": "green", "good": "green", "distorted": "bold red"}
_ROOMY = 96  # columns


def show(comparison: Comparison, console: Console) -> None:
    """Print one table for each section, then warnings, notes and the runs left out."""
    time = unit_of_time(comparison)
    for section in comparison.sections:
        console.print(section_table(section, time, console.width))
        for note in _below(section):
            console.print(Text(f"  {note}", style="italic"))
        console.print()
    for words in comparison.warnings:
        console.print(Text(f"warning: {words}", style="yellow"), soft_wrap=True)
    for words in comparison.notes:
        console.print(Text(words, style="italic"), soft_wrap=True)
    for words in _left_out(comparison):
        console.print(Text(words, style="red"), soft_wrap=True)


def section_table(section: Section, time: Unit, width: int) -> Table:
    """Build a section's table; columns that do not fit the width are left out."""
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
    shown = [column for column in columns(section, time) if _fits(column, section, width)]
    for column in shown:
        table.add_column(
            column.name,
            no_wrap=not column.wraps,
            overflow="fold",
            justify="left" if column.in_words else "right",
            style="bold" if column is shown[0] else None,
        )
    for group in section.groups:
        *others, verdict = (column.cell(group) for column in shown)
        words = (Text(cell.replace(" (", "\n(")) for cell in others)
        table.add_row(*words, Text(verdict, style=_STYLES.get(verdict, "yellow")))
    return table


def _fits(column: Column, section: Section, width: int) -> bool:
    """Whether a terminal of this width shows the column."""
    if not section.has_target and column.shown.always_without_target:
        return True
    return width >= column.shown.from_width and (
        section.has_target or not column.shown.only_with_target
    )


def markdown(comparison: Comparison) -> str:
    """Return GitHub tables, one for each section."""
    time = unit_of_time(comparison)
    parts = ["\n".join(_markdown_section(section, time)) for section in comparison.sections]
    remarks = chain(comparison.warnings, comparison.notes, _left_out(comparison))
    if listed := "\n".join(f"- {escaped(words)}" for words in remarks):
        parts.append(listed)
    return "\n\n".join(parts) + "\n"


def _markdown_section(section: Section, time: Unit) -> Iterator[str]:
    shown = columns(section, time)
    yield f"### {escaped(heading(section))}"
    yield ""
    yield markdown_line([column.header for column in shown])
    yield markdown_line(["---" if column.in_words else "---:" for column in shown])
    for group in section.groups:
        yield markdown_line([column.cell(group) for column in shown])
    for note in _below(section):
        yield ""
        yield escaped(note)


def _below(section: Section) -> Iterator[str]:
    return chain(notes(section), paired_notes(section), paired_accuracy_notes(section))


def _left_out(comparison: Comparison) -> Iterator[str]:
    for run in comparison.left_out:
        yield f"left out: {run.path}: {run.cause}"


def markdown_line(words: list[str]) -> str:
    """Return one row of a GitHub table."""
    return f"| {' | '.join(map(escaped, words))} |"


def escaped(words: str) -> str:
    """Escape the characters that have a meaning in Markdown."""
    plain = " ".join(words.split())
    return "".join(f"\\{sign}" if sign in "\\|*_`<>[]" else sign for sign in plain)
