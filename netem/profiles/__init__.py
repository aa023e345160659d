"""Profiles: named links, devices and traces, kept as data."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from contracts.registry import Registry

_FOLDER = Path(__file__).parent


@cache
def links() -> Registry[dict[str, Any]]:
    """Return every link profile, by name."""
    return Registry("LINKS", tomllib.loads((_FOLDER / "links.toml").read_text()))


@cache
def devices() -> Registry[dict[str, Any]]:
    """Return every device profile, by name."""
    return Registry("DEVICES", tomllib.loads((_FOLDER / "devices.toml").read_text()))


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
