"""The layout of a spool and the records of its status file: one contract for both sides."""

import ast
import dataclasses
import json
import re
from pathlib import Path

import pytest

from contracts import status
from contracts.project import ROOT
from contracts.spool import Spool, unfinished
from contracts.status import Status
from runner.json_lines import tail

ROOMS = ("benchmarks", "cli", "learning", "netem", "nodes", "protocols", "reports", "scenarios")
# Pieces of names that stand for nothing but a file of the spool.
PIECES = (
    *("status.jsonl", "workers-ready", ".task", ".result", ".claimed-", ".stats"),
    *("checkpoint-", "pause-", "ready-", "mconsole"),
)
EVERY_STATUS = [
    status.BuildingNetwork(nodes=13),
    status.MeasuringLinks(seconds=1.5),
    status.StartingNodes(seconds=2.5),
    status.Training(seconds=0.5),
    status.RoundEnded(round=3, elapsed=12.25),
    status.NodeLost(node="client1", error="two\nlines"),
    status.Done(),
    status.Failed(error="client1: it broke"),
    status.CellMeasured({"rate": 1e6, "long": True}),
    status.StockNetworkBuilt(seconds=9.0),
]


def test_no_file_of_a_spool_has_two_names(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fixed = [value for name, value in vars(spool).items() if name != "root"]
    for_jobs = [spool.task("x"), spool.claimed("x", 0), spool.result("x"), spool.error("x")]
    for_workers = [spool.ready(0), spool.stats(0)]
    for_nodes = [spool.checkpoint("x"), spool.pause("x"), spool.model_to_evaluate("x")]
    named = [*fixed, *for_jobs, *for_workers, *for_nodes]

    assert len(set(named)) == len(named)
    assert all(path.is_relative_to(tmp_path) for path in named)


def test_a_file_still_being_written_is_in_the_same_folder_and_in_no_list(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.create()
    finished = spool.task("one"), spool.model_to_evaluate("one")
    for path in finished:
        path.touch()
        unfinished(path.with_stem("two")).touch()
        assert unfinished(path).parent == path.parent

    assert spool.waiting_jobs() == ["one"]
    assert spool.models_to_evaluate() == [finished[1]]


def test_nobody_but_the_contract_spells_the_names_of_a_spool() -> None:
    found = []
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    is_prose = " " in node.value
                    if not is_prose and any(piece in node.value for piece in PIECES):
                        found.append(f"{file.relative_to(ROOT)}:{node.lineno}: {node.value}")

    assert found == []


@pytest.mark.parametrize("record", EVERY_STATUS, ids=lambda record: record.phase)
def test_a_status_is_read_as_it_was_written(tmp_path: Path, record: Status) -> None:
    spool = Spool(tmp_path)

    status.append(spool.status, record)

    [line] = tail(spool.status)()
    assert next(iter(line)) == "phase", "the phase stands first"
    assert status.parse(line) == record


def test_every_status_has_a_phase_of_its_own() -> None:
    kinds = set(Status.__subclasses__())

    assert kinds == {type(record) for record in EVERY_STATUS}
    assert len({kind.phase for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    "fields",
    [
        {"phase": "unheard-of"},
        {"nodes": 3},
        {"phase": "network"},
        {"phase": "done", "error": "but done has none"},
    ],
    ids=json.dumps,
)
def test_what_is_no_status_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^status\.jsonl: .* is no record of a known phase$"):
        status.parse(fields)


def test_the_page_lists_every_phase_with_its_fields() -> None:
    page = (ROOT / "docs" / "spool.md").read_text().partition("## `status.jsonl`")[2]
    rows = re.findall(r"^\| `(\w+)` \|(.*?)\|", page, re.MULTILINE)

    assert {phase: re.findall(r"`(\w+)`", fields) for phase, fields in rows} == {
        record.phase: [field.name for field in dataclasses.fields(record)]
        for record in EVERY_STATUS
    }


def test_a_status_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        status.Done().phase = "failed"  # type: ignore[misc]
