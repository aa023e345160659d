"""One owner of a run's file names and columns, and a page that specifies them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts import tables
from contracts.project import ROOT
from contracts.run_directory import RunDirectory, client_name

ROOMS = ("benchmarks", "cli", "learning", "netem", "nodes", "protocols", "reports", "scenarios")
RECORDS = (ROOT / "docs/records.md").read_text()
FILES = [name for name in RunDirectory.names() if "." in name]
# A study of link profiles has a table of its own by that name.
NOT_OF_A_RUN = {("cli/links.py", "links.csv")}
TABLES = {
    "rounds.csv": tables.ROUND_COLUMNS,
    "data.csv": tables.HOLDING_COLUMNS,
    "links.csv": (*tables.LINK_COLUMNS, *tables.BACKGROUND_COLUMNS, tables.PROFILE_COLUMN),
    "cells.csv": tables.CELL_COLUMNS,
    "handovers.csv": tables.HANDOVER_COLUMNS,
    "membership.csv": tables.MEMBERSHIP_COLUMNS,
    "dissimilarity.csv": tables.DISSIMILARITY_COLUMNS,
}


def _strings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_other_module_spells_the_name_of_a_runs_file() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    spelt = {
        (str(file.relative_to(ROOT)), text)
        for file in files
        for text in _strings(file)
        if text in FILES
    }

    assert spelt - NOT_OF_A_RUN == set()


@pytest.mark.parametrize("name", RunDirectory.names())
def test_every_file_is_specified(name: str) -> None:
    assert f"`{name}" in RECORDS


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_specified(name: str) -> None:
    section = re.split(r"^## ", RECORDS, flags=re.MULTILINE)
    [text] = [part for part in section if part.startswith(name)]

    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(TABLES[name])


def test_every_model_has_its_own_file_where_several_nodes_have_nobody_above_them() -> None:
    run = RunDirectory(Path("run"))

    assert run.final_model("cloud", tops=1) == Path("run/final.model")
    assert run.final_model("edge2", tops=3) == Path("run/final-edge2.model")


def test_clients_count_from_one_in_every_record() -> None:
    assert [client_name(index) for index in range(2)] == ["client1", "client2"]
