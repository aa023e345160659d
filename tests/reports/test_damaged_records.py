"""Whatever stands in a file of a run directory: it is read, or refused in a sentence; no more."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.report import report
from cli.resume import resume
from contracts.errors import BadInput
from reports.comparison.runs import read_runs
from tests.support.bounded import bounded
from tests.support.finished_run import finished_run

FILES = (
    *("scenario.toml", "plan.json", "learning.json", "summary.json", "rounds.csv", "links.csv"),
    *("events.jsonl", "evaluations.jsonl", "probes.json", "varying.json", "data.csv", "cells.csv"),
)


def content(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": content(b""),
    "null": content(b"null\n"),
    "list": content(b"[1, 2]\n"),
    "number": content(b"3\n"),
    "table": content(b"{}\n"),
    "numbers": content(b'{"schema": 1e999, "seed": NaN, "nodes": 3, "provenance": []}\n'),
    "digits": content(b'{"seed": ' + b"9" * 5000 + b"}\n"),
    "brackets": content(b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "braces": content(b'{"a":' * 100_000 + b"\n"),
    "binary": content(bytes(range(256)) * 100),
    "zeros": content(bytes(1000)),
    "one line": content(b"a" * 1_000_000 + b"\n"),
    "directory": Path.mkdir,
    "pipe": os.mkfifo,
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_run(tmp_path_factory.mktemp("whole") / "run").path


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(
    whole: Path, tmp_path: Path, damage: str
) -> None:
    for number, name in enumerate(FILES):
        run = tmp_path / str(number)
        shutil.copytree(whole, run)
        (run / name).unlink(missing_ok=True)
        DAMAGES[damage](run / name)
        try:
            with bounded(seconds=20, megabytes=500):
                read_runs([str(run)])
                report([str(run)], out=str(tmp_path / "out"))
        except BadInput as error:
            assert "\n" not in str(error)
            assert str(run) in str(error)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_without_its_settings_is_not_gone_on_with(tmp_path: Path, damage: str) -> None:
    files = finished_run(tmp_path / "run")
    files.summary.unlink()
    for path in (files.learning, files.scenario):
        path.unlink()
        DAMAGES[damage](path)
        with bounded(seconds=20, megabytes=500), pytest.raises(BadInput):
            resume(str(tmp_path / "run"))


def test_runs_are_found_beside_a_link_to_itself(tmp_path: Path) -> None:
    finished_run(tmp_path / "run")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to(".")

    assert report([str(tmp_path)], out=str(tmp_path / "report")) == 0


def test_servers_that_wait_for_each_other_in_damaged_events_end_in_no_circle(
    tmp_path: Path,
) -> None:
    finished_run(tmp_path / "run")
    events = (tmp_path / "run" / "events.jsonl").read_text()
    circle = events.replace('"node": "client1"', '"node": "cloud"')
    (tmp_path / "run" / "events.jsonl").write_text(circle)

    with bounded(seconds=20, megabytes=500):
        assert report([str(tmp_path / "run")], out=str(tmp_path / "report")) == 0
