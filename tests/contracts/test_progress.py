"""The file in which a run writes down how far it has come."""

from pathlib import Path

import pytest

from contracts import progress
from contracts.progress import Progress

SOME = Progress(round=3, rounds=10, elapsed=12.5, seconds_left=70.0, accuracy=0.5, accuracy_round=2)


@pytest.mark.parametrize("found", [SOME, Progress(1, 2, 0.5, 0.0)])
def test_what_was_written_is_read(tmp_path: Path, found: Progress) -> None:
    progress.write(tmp_path / "p.json", SOME)
    progress.write(tmp_path / "p.json", found)

    assert progress.read(tmp_path / "p.json") == found
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "{}", '{"round": 1}', '{"round": "x", "accuracy": null}']
)
def test_anything_else_is_no_progress(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)

    assert progress.read(tmp_path / "p.json") is None


def test_before_the_first_round_there_is_none(tmp_path: Path) -> None:
    assert progress.read(tmp_path / "p.json") is None


def test_a_place_that_cannot_be_written_does_not_break_the_run(tmp_path: Path) -> None:
    progress.write(tmp_path / "missing" / "p.json", SOME)

    assert not (tmp_path / "missing").exists()


def test_the_place_is_taken_out_of_the_environment() -> None:
    environment = {progress.FILE: "/there/p.json", "HOME": "/root"}

    assert progress.asked_for(environment) == Path("/there/p.json")
    assert environment == {"HOME": "/root"}
    assert progress.asked_for(environment) is None


def test_nothing_is_left_of_a_run_killed_while_it_wrote(tmp_path: Path) -> None:
    progress.write(tmp_path / "p.json", SOME)
    (tmp_path / ".p.json.new").write_text("{")

    progress.remove(tmp_path / "p.json")
    progress.remove(tmp_path / "p.json")

    assert not list(tmp_path.iterdir())
