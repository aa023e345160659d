"""What an earlier attempt left: finished runs are kept, broken ones repeated, the rest refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.sweep.directories import is_finished, locked_directory, remove_attempt, run_paths
from contracts.errors import BadInput
from scenarios import loader
from scenarios.expansion import SweepRun
from scenarios.schema import Device
from tests.support.scenario_trees import star_scenario


@pytest.fixture
def run() -> SweepRun:
    return SweepRun("one", loader.check(star_scenario(clients=1)))


def leave(out: Path, run: SweepRun, failure: str | None = None, **changed: Any) -> Path:
    """A run's directory as `metronome run` leaves it."""
    directory = run_paths(out, run).directory
    directory.mkdir()
    scenario = run.scenario.model_copy(update=changed)
    (directory / "scenario.toml").write_text(loader.dump(scenario))
    (directory / "plan.json").touch()
    (directory / "summary.json").write_text(json.dumps({"failure": failure}))
    return directory


def test_a_run_that_finished_is_not_repeated(tmp_path: Path, run: SweepRun) -> None:
    leave(tmp_path, run)

    assert is_finished(tmp_path, run)


def test_workers_and_words_make_no_other_run(tmp_path: Path, run: SweepRun) -> None:
    leave(
        tmp_path, run, about="else", compute=run.scenario.compute.model_copy(update={"workers": 7})
    )

    assert is_finished(tmp_path, run)


def test_a_measured_device_is_the_same_whatever_was_measured(tmp_path: Path) -> None:
    tree = star_scenario(devices={"client": "host", "cloud": "droplet-1gb"})
    run = SweepRun("one", loader.check(tree))
    measured = Device(profile="host", speed=1e9, memory=10**9)
    leave(tmp_path, run, devices={**run.scenario.devices, "client": measured})

    assert is_finished(tmp_path, run)


@pytest.mark.parametrize("changed", [{"seed": 9}, {"clock": "virtual"}, {"name": "other"}])
def test_a_finished_run_of_another_scenario_is_refused(
    tmp_path: Path, run: SweepRun, changed: dict[str, Any]
) -> None:
    directory = leave(tmp_path, run, **changed)

    with pytest.raises(BadInput, match=r"one: finished, but its scenario was another than now; "):
        is_finished(tmp_path, run)
    assert (directory / "summary.json").exists()


def test_a_finished_run_whose_scenario_cannot_be_read_is_refused(
    tmp_path: Path, run: SweepRun
) -> None:
    directory = leave(tmp_path, run)
    (directory / "scenario.toml").write_text("name = ")

    with pytest.raises(BadInput, match="name another --out, or delete that run"):
        is_finished(tmp_path, run)


def test_a_run_that_failed_is_repeated_whatever_its_scenario(tmp_path: Path, run: SweepRun) -> None:
    directory = leave(tmp_path, run, failure="interrupted", seed=9)
    run_paths(tmp_path, run).log.write_text("metronome: interrupted")

    assert not is_finished(tmp_path, run)
    remove_attempt(run_paths(tmp_path, run))
    assert not directory.exists()
    assert not run_paths(tmp_path, run).log.exists()


@pytest.mark.parametrize("left", [(), ("logs",), ("plan.json", "events.jsonl"), ("scenario.toml",)])
def test_a_run_cut_short_is_repeated(tmp_path: Path, run: SweepRun, left: tuple[str, ...]) -> None:
    directory = run_paths(tmp_path, run).directory
    directory.mkdir()
    for name in left:
        (directory / name).touch()

    assert not is_finished(tmp_path, run)


def test_a_summary_cut_short_counts_as_none(tmp_path: Path, run: SweepRun) -> None:
    (leave(tmp_path, run) / "summary.json").write_text('{"failure": nu')

    assert not is_finished(tmp_path, run)


@pytest.mark.parametrize("kind", ["file", "link", "other directory"])
def test_anything_but_a_run_is_left_alone(tmp_path: Path, run: SweepRun, kind: str) -> None:
    directory = run_paths(tmp_path, run).directory
    if kind == "file":
        directory.touch()
    elif kind == "link":
        directory.symlink_to(tmp_path, target_is_directory=True)
    else:
        directory.mkdir()
        (directory / "thesis.tex").touch()

    with pytest.raises(BadInput, match=r"one: in the way, and no run; move it or name another"):
        is_finished(tmp_path, run)


def test_two_sweeps_in_one_directory_are_one_too_many(tmp_path: Path) -> None:
    with (
        locked_directory(tmp_path / "out"),
        pytest.raises(BadInput, match="another sweep is at work here"),
        locked_directory(tmp_path / "out"),
    ):
        pass

    with locked_directory(tmp_path / "out"):
        pass


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(BadInput, match=r"--out .*: cannot be used \(Not a directory\); name"),
        locked_directory(tmp_path / "file" / "out"),
    ):
        pass
