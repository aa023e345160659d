"""Which room may import which: the rooms form layers, without cycles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.project import ROOT

ALLOWED = {
    "contracts": set[str](),
    "protocols": {"contracts"},
    "learning": {"contracts", "protocols"},
    "netem": {"contracts"},
    "scenarios": {"contracts", "learning", "netem", "protocols"},
    "nodes": {"contracts", "learning", "netem", "protocols"},
    "reports": {"contracts", "netem", "scenarios"},
    "runner": {"contracts", "learning", "netem", "protocols", "scenarios"},
    "cli": {
        *("contracts", "learning", "netem", "nodes", "protocols", "reports", "runner", "scenarios"),
    },
}


def _imported(path: Path) -> Iterator[str]:
    """The rooms that a module imports, also inside its functions."""
    for found in ast.walk(ast.parse(path.read_text())):
        if isinstance(found, ast.ImportFrom) and found.module is not None:
            yield found.module.partition(".")[0]
        elif isinstance(found, ast.Import):
            yield from (name.name.partition(".")[0] for name in found.names)


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    forbidden = ALLOWED.keys() - ALLOWED[room] - {room}

    crossing = {
        (str(path.relative_to(ROOT)), name)
        for path in (ROOT / room).rglob("*.py")
        for name in _imported(path)
        if name in forbidden
    }

    assert crossing == set()


def test_the_allowed_imports_have_no_cycle() -> None:
    below: set[str] = set()
    while len(below) < len(ALLOWED):
        next_layer = {room for room in ALLOWED if ALLOWED[room] <= below} - below
        assert next_layer, f"a cycle among {ALLOWED.keys() - below}"
        below |= next_layer
