"""The table of a link study for the terminal, as Markdown and as CSV."""

from collections.abc import Iterator
from itertools import compress
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.comparison.csv_table import as_csv, metric_columns
from reports.comparison.groups import Spread
from reports.comparison.link_study import KINDS, WAITING, Cell, LinkStudy, describe_part
from reports.comparison.metrics import ELAPSED, TIME
from reports.comparison.table import escaped, markdown_line
from reports.wording import duration

_NONE = "-"
_SEEN = 0.005  # the smallest share that is not rounded to 0 %
_WORDS = ("profile", "method", "bottleneck")  # columns of text


def show(study: LinkStudy, console: Console) -> None:
    """Print the table and the conclusion below it."""
    table = Table(
        title=Text(_heading(study), style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    headers = _headers(study)
    waited = any(cell.shares[WAITING] >= _SEEN for cell in study.cells)
    shown = [waited or name != WAITING for name in headers]
    for name in compress(headers, shown):
        words = name in _WORDS
        table.add_column(
            name, justify="left" if words else "right", no_wrap=not words, overflow="fold"
        )
    for cell in study.cells:
        table.add_row(*map(Text, compress(_row(cell), shown)))
    console.print(table)
    console.print(Text(study.conclusion, style="bold"))


def markdown(study: LinkStudy) -> str:
    """Return a GitHub table and the conclusion below it."""
    names = _headers(study)
    rules = ["---" if name in _WORDS else "---:" for name in names]
    lines = [f"### {escaped(_heading(study))}", "", markdown_line(names), markdown_line(rules)]
    lines += [markdown_line(_row(cell)) for cell in study.cells]
    return "\n".join([*lines, "", escaped(study.conclusion)]) + "\n"


def study_csv(study: LinkStudy) -> str:
    """Return the same numbers in plain units, with the share of every part."""
    return as_csv(list(_lines(study)))


def _lines(study: LinkStudy) -> Iterator[dict[str, Any]]:
    parts = dict.fromkeys(part for cell in study.cells for part in cell.parts)
    for cell in study.cells:
        name, share = cell.largest or (None, None)
        yield {
            "tier": study.tier,
            "profile": cell.profile,
            "method": cell.method,
            "runs": len(cell.group.runs),
            "target_accuracy": cell.group.target,
            "runs_that_reached_target": len(cell.group.arrivals),
            **metric_columns(ELAPSED, cell.group),
            **metric_columns(TIME, cell.group),
            **{kind: _rounded(cell.shares[kind] if cell.parts else None) for kind in KINDS},
            "bottleneck": name,
            "bottleneck_share": _rounded(share),
            **{part: _rounded(cell.parts.get(part)) for part in parts},
        }


def _heading(study: LinkStudy) -> str:
    return f"{study.title}: profiles of {study.tier}"


def _headers(study: LinkStudy) -> list[str]:
    targets = sorted({c.group.target for c in study.cells if c.group.target is not None})
    to = f"to {' or '.join(f'{100 * target:g} %' for target in targets) or 'target'}"
    return ["profile", "method", "elapsed", to, *KINDS, "bottleneck"]


def _row(cell: Cell) -> list[str]:
    shares = [_percent(cell.shares[kind] if cell.parts else None) for kind in KINDS]
    held = (
        f"{describe_part(cell.largest[0])}, {_percent(cell.largest[1])}" if cell.largest else _NONE
    )
    elapsed = _time(cell.group.spread(ELAPSED))
    return [cell.profile, cell.method, elapsed, _to_target(cell), *shares, held]


def _to_target(cell: Cell) -> str:
    group = cell.group
    if group.target is None:
        return _NONE
    missing = len(group.runs) - len(group.arrivals)
    if not group.arrivals:
        return "not reached"
    return _time(group.spread(TIME)) + (f" ({missing} did not)" if missing else "")


def _time(spread: Spread | None) -> str:
    if spread is None:
        return _NONE
    more = f" ± {duration(spread.deviation)}" if spread.deviation is not None else ""
    return f"{duration(spread.mean)}{more}"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.0f} %"


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
