"""A run directory before anything is started, and what is refused by then."""

import dataclasses
import json
import os
import shutil
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.errors import BadInput
from contracts.plan import Plan
from learning.data import datasets
from netem import memory_left, places
from netem.backends import guest
from netem.spool import room_needed
from protocols.wire import read_file
from runner import preparation
from runner.preparation import output_directory, prepare
from scenarios import loader
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

Usage = namedtuple("Usage", "total used free")


def test_a_prepared_directory_has_all_that_nodes_and_workers_read(tmp_path: Path) -> None:
    scenario = loader.check(star_scenario(clients=2, seed=5))

    prepared = prepare(scenario, None, tmp_path / "run")
    assert not (tmp_path / "run").exists(), "nothing is written before all is checked"
    prepared.write()

    run = tmp_path / "run"
    assert loader.load(str(run / "scenario.toml")) == scenario
    assert Plan.from_json((run / "plan.json").read_text()) == prepared.plan
    learning = json.loads((run / "learning.json").read_text())
    assert (learning["dataset"], learning["model"], learning["seed"]) == ("tiny", "lenet5", 5)
    with np.load(run / "partition.npz", allow_pickle=False) as parts:
        sizes = [len(parts["client1"]), len(parts["client2"])]
    assert sizes == [node.samples for node in prepared.plan.nodes if node.role == "client"]
    tensors = read_file(run / "initial.model").tensors
    assert prepared.plan.tensors == {name: (str(t.dtype), t.shape) for name, t in tensors.items()}


def test_the_same_seed_prepares_the_same_run(tmp_path: Path) -> None:
    scenario = loader.check(star_scenario(clients=2))

    first, second = (prepare(scenario, None, tmp_path / "run") for _ in range(2))

    assert first.plan == second.plan
    for one, other in zip(first.parts, second.parts, strict=True):
        np.testing.assert_array_equal(one, other)
    for name, tensor in first.initial.items():
        np.testing.assert_array_equal(tensor, second.initial[name])


def test_sorted_by_class_the_samples_are_the_same_and_lie_class_after_class(tmp_path: Path) -> None:
    task = {"dataset": "tiny", "model": "lenet5", "shuffle": False}
    either = ({**task, "sorted_by_class": wish} for wish in (False, True))

    mixed, ordered = (
        prepare(loader.check(star_scenario(clients=2, task=task)), None, tmp_path / "run")
        for task in either
    )

    labels = datasets.load("tiny", None).train_labels
    for one, other in zip(mixed.parts, ordered.parts, strict=True):
        assert sorted(one) == sorted(other)
        assert (np.diff(labels[one]) < 0).any() and not (np.diff(labels[other]) < 0).any()


def test_more_samples_than_exist_are_refused(tmp_path: Path) -> None:
    tree = star_scenario(task={"dataset": "tiny", "model": "lenet5", "samples_per_client": 10**6})

    with pytest.raises(BadInput, match=r"task.samples_per_client: .*; "):
        prepare(loader.check(tree), None, tmp_path / "run")


@pytest.mark.parametrize("kind", ["file", "full directory"])
def test_an_output_directory_in_use_is_refused(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "run"
    if kind == "file":
        out.touch()
    else:
        out.mkdir()
        (out / "summary.json").touch()

    with pytest.raises(BadInput, match=r"^--out .*: in use; name another directory"):
        output_directory(loader.check(star_scenario()), str(out))


def test_an_empty_output_directory_is_taken(tmp_path: Path) -> None:
    assert output_directory(loader.check(star_scenario()), str(tmp_path)) == tmp_path


def test_two_runs_in_one_second_have_directories_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "RUNS", tmp_path)
    monkeypatch.setattr(time, "strftime", lambda _: "now")
    scenario = loader.check(star_scenario())

    first, second = (output_directory(scenario, None) for _ in range(2))

    assert first.name == "small-now"
    assert second != first
    assert first.is_dir() and second.is_dir()  # taken, although neither run has begun


def test_an_output_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    prepared = prepare(loader.check(star_scenario()), None, tmp_path / "file" / "run")

    with pytest.raises(BadInput, match=r"^--out .*: cannot be made \(Not a directory\); name"):
        prepared.write()


@pytest.mark.parametrize(
    ("compute", "trainer", "workers"),
    [
        ({}, "pool", len(os.sched_getaffinity(0))),
        ({"trainer": "inline"}, "inline", len(os.sched_getaffinity(0))),
        ({"workers": 3}, "pool", 3),
    ],
)
def test_the_trainer_is_the_pool_on_every_core_unless_the_scenario_says_otherwise(
    compute: dict[str, Any], trainer: str, workers: int
) -> None:
    scenario = loader.check(star_scenario(compute=compute))

    assert preparation.trainer_of(scenario) == trainer
    assert preparation.worker_count(scenario) == workers


# Room for the guest


def test_the_guest_needs_memory_for_every_node_and_model_on_its_way() -> None:
    small, large = planned(star_scenario(clients=2)), planned(star_scenario(clients=200))

    assert guest.memory_needed(large) - guest.memory_needed(small) >= 198 * guest._NODE_BYTES


def test_the_guest_needs_memory_for_torch_in_every_node_that_trains_itself() -> None:
    plan = planned(star_scenario(clients=9))
    inline = dataclasses.replace(plan, trainer="inline")

    more = guest.memory_needed(inline) - guest.memory_needed(plan)
    assert more >= 10 * 282_000_000 + 550_000_000  # as measured with CUDA's libraries


def usage_of(room: dict[str, Usage], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make these the only places, with so much room."""
    monkeypatch.setattr(places, "candidates", lambda: [Path(path) for path in room])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: room[str(path)])


def test_no_room_for_the_guest_is_refused_with_the_places_and_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    little, less = Usage(64 << 20, 44 << 20, 20 << 20), Usage(64 << 20, 53 << 20, 11 << 20)
    usage_of({"/dev/shm": little, "/tmp": less}, monkeypatch)

    refused = (
        r"^guest memory: a guest for 9 nodes may need \d{3} MB, and no place has them: "
        r"/dev/shm \(20 MB free\), /tmp \(11 MB free\); free some room, "
    )
    with pytest.raises(BadInput, match=refused):
        guest.place_for(planned(tree_scenario()))


def test_room_for_the_guest_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_left, "memory_left", lambda: 64 << 30)
    usage_of({"/dev/shm": Usage(64 << 30, 0, 64 << 30)}, monkeypatch)

    assert guest.place_for(planned(tree_scenario())).path == Path("/dev/shm")


def test_the_guest_and_the_spool_both_fit_where_the_guest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = planned(tree_scenario())
    both = guest.memory_needed(plan) + room_needed(plan)
    large = Usage(1 << 40, 0, 1 << 40)
    monkeypatch.setattr(memory_left, "memory_left", lambda: 64 << 30)

    usage_of({"/dev/shm": Usage(both, 0, both), "/tmp": large}, monkeypatch)
    assert guest.place_for(plan).path == Path("/dev/shm")

    usage_of({"/dev/shm": Usage(both, 1, both - 1), "/tmp": large}, monkeypatch)
    assert guest.place_for(plan).path == Path("/tmp")
