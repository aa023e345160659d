"""The files of a run directory, changed at random: shown, compared, or refused."""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from cli.report import report
from contracts.run_directory import RunDirectory
from learning.training.run_data import learning_settings
from reports.comparison.groups import compare_runs
from reports.comparison.runs import read_runs
from tests.fuzz.bounds import expecting_bad_input, fuzzed
from tests.fuzz.mutations import as_csv, mutated_bytes, mutated_tree, odd_value
from tests.support.finished_run import finished_run

_FOLDER = TemporaryDirectory(prefix="metronome-fuzz-")
WHOLE, RUN = Path(_FOLDER.name, "whole"), Path(_FOLDER.name, "run")
FILES = (
    *("plan.json", "summary.json", "learning.json", "probes.json", "varying.json"),
    *("events.jsonl", "evaluations.jsonl", "links.csv", "rounds.csv", "data.csv", "scenario.toml"),
)
NOT_READ = (".png", ".html", ".npz", ".model")


@cache
def contents() -> dict[str, bytes]:
    """Return the files of a run that ended well."""
    files = finished_run(WHOLE)
    shutil.copytree(files.path, RUN)
    return {name: (WHOLE / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module", autouse=True)
def removed_at_the_end() -> Iterator[None]:
    yield
    _FOLDER.cleanup()


def changed(name: str, content: bytes, chance: Random) -> bytes:
    """Change values where the file is of JSON, and bytes elsewhere."""
    if name.endswith(".json") and chance.random() < 0.7:
        return _json(mutated_tree(json.loads(content), chance, _json_value))
    if name.endswith(".jsonl") and chance.random() < 0.7:
        lines = content.splitlines()
        at = chance.randrange(len(lines))
        lines[at] = _json(mutated_tree(json.loads(lines[at]), chance, _json_value))
        return b"\n".join(lines) + b"\n"
    if name.endswith(".csv") and chance.random() < 0.5:
        rows = [line.split(",") for line in content.decode().splitlines()]
        return as_csv(mutated_tree(rows, chance))
    return mutated_bytes(content, chance)


@fuzzed(gate=60)
def test_files_of_a_run(number: int) -> None:
    chance, before = Random(number), contents()
    spoilt = chance.sample(FILES, chance.choice((1, 1, 1, 2)))
    for name in spoilt:
        (RUN / name).write_bytes(changed(name, before[name], chance))
    try:
        with expecting_bad_input():
            found, left_out = read_runs([str(RUN)])
            compare_runs(found, left_out, None, None)
        with expecting_bad_input():
            report([str(RUN)], out=str(WHOLE / "report"))
        with expecting_bad_input():
            _settings_of(RunDirectory(RUN).path)
    finally:
        for name in spoilt:
            (RUN / name).write_bytes(before[name])


def _settings_of(run: Path) -> None:
    try:
        learning_settings(run)
    except (OSError, ValueError):
        return  # all that those who read it expect


def _json(tree: Any) -> bytes:
    return json.dumps(tree).encode("utf-8", "replace")


def _json_value(chance: Random) -> Any:
    value = odd_value(chance)
    return value if not hasattr(value, "isoformat") else None
