"""Scenario files that build on one another, their variants and sizes."""

from pathlib import Path

import numpy as np
import pytest

from contracts.errors import BadInput
from learning.data import partitions
from scenarios import files, loader

BASE = """
name = "base"
[task]
dataset = "tiny"
model = "tiny-mlp"
[protocol]
rounds = 5
[topology]
kind = "star"
clients = 3
[links]
client-cloud = { rate = "1mbit", delay = "5ms" }
[devices]
client = "phone"
cloud = "droplet-1gb"
[variants.plain.protocol]
name = "fedavg"
[variants.long.protocol]
name = "fedavg"
local_epochs = 7
[sizes.small.protocol]
rounds = 2
[sizes.large.topology]
clients = 30
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    file = tmp_path / "base.toml"
    file.write_text(BASE)
    return file


def extending(base: Path, text: str) -> Path:
    file = base.with_name("above.toml")
    file.write_text(text)
    return file


def test_the_first_variant_and_size_are_the_default(base: Path) -> None:
    scenario = loader.load(str(base))

    assert (scenario.variant, scenario.size) == ("plain", "small")
    assert (scenario.protocol.rounds, scenario.topology.clients) == (2, 3)


def test_a_variant_and_a_size_can_be_chosen(base: Path) -> None:
    scenario = loader.load(str(base), variant="long", size="large")

    assert loader.protocol_settings(scenario).local_epochs == 7
    assert (scenario.protocol.rounds, scenario.topology.clients) == (5, 30)


def test_changes_come_last(base: Path) -> None:
    scenario = loader.load(str(base), changes=["protocol.rounds=9"])

    assert scenario.protocol.rounds == 9


def test_what_can_be_chosen_is_told(base: Path) -> None:
    assert loader.choices(str(base)) == files.Choices(("plain", "long"), ("small", "large"))


def test_a_resolved_scenario_has_nothing_left_to_choose(base: Path, tmp_path: Path) -> None:
    scenario = loader.load(str(base), variant="long")
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(loader.dump(scenario))

    assert loader.load(str(resolved)) == scenario
    assert loader.choices(str(resolved)) == files.Choices((), ())


def test_a_file_is_merged_over_the_one_it_extends(base: Path) -> None:
    above = extending(base, 'extends = "base.toml"\nname = "above"\n[task]\nbatch_size = 3\n')

    scenario = loader.load(str(above))

    assert (scenario.name, scenario.task.dataset, scenario.task.batch_size) == ("above", "tiny", 3)


def test_a_link_is_replaced_whole(base: Path) -> None:
    above = extending(base, 'extends = "base.toml"\n[links]\nclient-cloud = { rate = "2mbit" }\n')

    assert loader.load(str(above)).links["client-cloud"].delay == "0ms"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('extends = "nowhere.toml"', 'extends "nowhere.toml", which is not there'),
        ('extends = "above.toml"', "in a circle"),
        ('extends = "base.toml"\nvariants = 3', "variants: must be a table of tables"),
    ],
)
def test_files_that_cannot_be_built_are_refused(base: Path, text: str, sentence: str) -> None:
    above = extending(base, text)

    with pytest.raises(BadInput, match=sentence):
        loader.load(str(above))


def test_an_unknown_variant_is_refused_with_the_closest_one(base: Path) -> None:
    with pytest.raises(BadInput, match=r"--variant plane: base\.toml has no such variant; did you"):
        loader.load(str(base), variant="plane")


def test_a_size_of_a_scenario_without_sizes_is_refused() -> None:
    with pytest.raises(BadInput, match="it has none at all"):
        loader.load("quickstart", size="small")


@pytest.mark.parametrize("name", sorted(files.library()))
def test_every_variant_and_size_of_the_library_is_a_valid_scenario(name: str) -> None:
    choices = loader.choices(name)

    for variant in choices.variants or (None,):
        for size in choices.sizes or (None,):
            assert loader.load(name, variant=variant, size=size).name == name


TRAINING_SAMPLES = {
    "mnist": 60_000,
    "fashionmnist": 60_000,
    "cifar10": 50_000,
    "tiny": 2_000,
    "cifar100": 50_000,
    "emnist": 112_800,
}
CLASSES = {"emnist": 47, "cifar100": 100}


@pytest.mark.parametrize("name", sorted(files.library()))
def test_the_data_suffice_for_every_variant_and_size_of_the_library(name: str) -> None:
    choices = loader.choices(name)
    dealt = set()  # variants mostly share their data
    for variant in choices.variants or (None,):
        for size in choices.sizes or (None,):
            scenario = loader.load(name, variant=variant, size=size)
            task, topology = scenario.task, scenario.topology
            if (key := f"{task.partition} {task.samples_per_client} {topology}") in dealt:
                continue
            dealt.add(key)
            classes = CLASSES.get(task.dataset, 10)
            labels = np.arange(TRAINING_SAMPLES[task.dataset]) % classes

            parts = partitions.make(
                task.partition,
                labels[labels < (task.classes or classes)],
                topology.client_count,
                task.samples_per_client,
                task.concentration,
                scenario.seed,
                task.shared_samples,
                homes=topology.cells_by_client if topology.kind == "cells" else None,
                cells=topology.cells,
                labels_each=task.labels_per_client,
            )

            sizes = [len(part) for part in parts]
            if task.partition == "dirichlet-by-class":  # the number given is the mean
                assert sum(sizes) == len(sizes) * (
                    task.samples_per_client or len(labels) / len(sizes)
                )
            else:
                assert set(sizes) == {task.samples_per_client}
