"""Profiles: named links, devices and traces, kept as data."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@cache
def links() -> dict[str, dict[str, Any]]:
    """Read every link profile, by name."""
    return tomllib.loads((_FOLDER / "links.toml").read_text())


@cache
def devices() -> dict[str, dict[str, Any]]:
    """Read every device profile, by name."""
    return tomllib.loads((_FOLDER / "devices.toml").read_text())


@cache
def tables() -> dict[str, Path]:
    """Return the file of every named table of links."""
    return {path.stem: path for path in sorted((_FOLDER / "tables").glob("*.csv"))}


@cache
def traces() -> dict[str, Path]:
    """Return the file of every named trace."""
    return {path.stem: path for path in sorted((_FOLDER / "traces").glob("*.csv"))}


@cache
def graphs() -> dict[str, Path]:
    """Return the file of every named graph."""
    return {path.stem: path for path in sorted((_FOLDER / "graphs").glob("*.gml"))}
