"""report.html: runs on one page that needs no other files and no network."""

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

from reports.page.data import page_data
from reports.records.atomic_files import write_text_atomically
from reports.records.run_records import RunRecords

_PAGE = Path(__file__).parent
# They are concatenated in this order into one function: each may use names from earlier ones.
_SCRIPTS = ("elements", "wording", "chart", "time", "waterfall", "network", "details", "page")


def write_report(path: Path, runs: Sequence[RunRecords]) -> None:
    """Write the page of these runs atomically."""
    write_text_atomically(path, report_html(page_data(runs)))


def report_html(data: dict[str, Any]) -> str:
    """Return the page with this data; if it has the key `live`, the page keeps asking for news."""
    labels = ", ".join(run["label"] for run in data["runs"]) or "waiting"
    script = _script(*_SCRIPTS, *(["live"] if "live" in data else []))
    parts = {"TITLE": escape(labels), "STYLE": _style(), "SCRIPT": script, "DATA": _safe(data)}
    page = (_PAGE / "page.html").read_text(encoding="utf-8")
    # Fill all placeholders in one pass, so that inserted text cannot be taken for a placeholder.
    pieces = page.split("@@")
    return "".join(parts[p] if at % 2 else p for at, p in enumerate(pieces))


def json_text(data: dict[str, Any]) -> str:
    """Return JSON that every browser accepts; infinite and undefined numbers become null."""
    try:
        return _compact(data)
    except ValueError:  # a model that diverged has a loss that JSON cannot express
        return _compact(_finite(data))


def _safe(data: dict[str, Any]) -> str:
    """Return JSON that cannot end its script element, whatever names it contains."""
    text = json_text(data)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _compact(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


@cache
def _style() -> str:
    return (_PAGE / "style.css").read_text(encoding="utf-8")


@cache
def _script(*names: str) -> str:
    files = (_PAGE / f"{name}.js" for name in names)
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
