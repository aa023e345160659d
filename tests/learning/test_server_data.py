"""The server's own samples: how they are drawn, kept in the run directory, and read back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.errors import BadInput
from contracts.training import SERVER
from learning.data import datasets, partitions, server_data
from learning.models import registry as models
from learning.training.context import TrainingContext
from runner.preparation import prepare
from scenarios import loader
from scenarios.server_data import ServerData
from tests.support.scenario_trees import star_scenario

TINY = datasets.load("tiny", None)
PARTS = partitions.make("labels-per-client", TINY.train_labels, 10, 60, None, 1, labels_each=2)


def _gather(seed: int = 1, **keys: Any) -> tuple[np.ndarray, np.ndarray]:
    return server_data.gather(ServerData(**keys), TINY, PARTS, seed)


def _rows(images: np.ndarray) -> set[bytes]:
    return {image.tobytes() for image in images}


@pytest.mark.parametrize(
    ("samples", "counts"), [(50, [5] * 10), (23, [2] * 7 + [3] * 3), (3, [0] * 7 + [1] * 3)]
)
def test_an_iid_sample_is_balanced_as_far_as_it_divides(samples: int, counts: list[int]) -> None:
    images, labels = _gather(kind="iid", samples=samples)
    assert images.shape == (samples, 1, 28, 28) and images.dtype == np.uint8
    assert labels.dtype == np.int64
    assert sorted(np.bincount(labels, minlength=10)) == counts
    assert len(_rows(images)) == samples, "without replacement"
    assert _rows(images) <= _rows(TINY.train_inputs[:])


def test_inputs_keep_their_labels() -> None:
    images, labels = _gather(kind="iid", samples=40)
    known = {
        image.tobytes(): label
        for image, label in zip(TINY.train_inputs[:], TINY.train_labels, strict=True)
    }
    assert [known[image.tobytes()] for image in images] == labels.tolist()


def test_samples_of_a_few_clients_come_from_just_these() -> None:
    images, labels = _gather(kind="clients", clients=3, samples_per_client=20)
    assert len(labels) == 60
    held = _rows(images)
    from_each = [len(held & _rows(TINY.train_inputs[part])) for part in PARTS]
    assert sorted(from_each) == [0] * 7 + [20] * 3


@pytest.mark.parametrize(
    "keys",
    [{"kind": "iid", "samples": 30}, {"kind": "clients", "clients": 2, "samples_per_client": 9}],
)
def test_the_seed_decides(keys: dict[str, Any]) -> None:
    first, again, other = (_gather(seed, **keys)[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_restricted_classes_restrict_the_server_too() -> None:
    some = datasets.load("tiny", None, classes=3)
    section = ServerData(kind="iid", samples=9)
    images, labels = server_data.gather(section, some, [np.arange(5)], 1)
    assert sorted(labels) == [0] * 3 + [1] * 3 + [2] * 3
    assert _rows(images) <= _rows(TINY.train_inputs[:])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"kind": "iid", "samples": 2_001},
            r"server_data.samples: 2001 are 201 of class \d, .* has 200; ask for at most 2000",
        ),
        (
            {"kind": "clients", "clients": 11, "samples_per_client": 1},
            "server_data.clients: 11 of 10 clients; ask for at most 10",
        ),
        (
            {"kind": "clients", "clients": 2, "samples_per_client": 61},
            "server_data.samples_per_client: 61, and one of the 2 clients has 60; ask for at most",
        ),
    ],
)
def test_more_than_there_is_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        _gather(**keys)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"kind": "iid"}, 'server_data: kind "iid" needs "samples"'),
        (
            {"kind": "iid", "samples": 5, "clients": 2},
            'server_data: kind "iid" has no "clients"; use samples',
        ),
        ({"kind": "clients", "clients": 2}, 'kind "clients" needs "samples_per_client"'),
        ({"kind": "iid", "samples": 0}, "server_data.samples: "),
        ({"kind": "idd", "samples": 5}, "server_data.kind: "),
        (
            {"kind": "source", "source": "letters", "per_class": 15},
            'server_data.source: "letters" has samples of the classes of emnist, not of tiny; use',
        ),
    ],
)
def test_a_section_that_makes_no_sense_is_refused(section: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        loader.check(star_scenario(server_data=section))


def test_a_run_directory_carries_the_servers_samples(tmp_path: Path) -> None:
    tree = star_scenario(server_data={"kind": "iid", "samples": 30})

    prepared = prepare(loader.check(tree), None, tmp_path / "run")
    prepared.write()

    assert prepared.plan.node("cloud").samples == 30
    context = TrainingContext.load(tmp_path / "run")
    with np.load(tmp_path / "run" / "server_data.npz", allow_pickle=False) as stored:
        raw, labels = stored["images"], stored["labels"]
    assert raw.shape == (30, 1, 28, 28) and raw.dtype == np.uint8 and labels.dtype == np.int64
    images, found = context.samples(SERVER)
    np.testing.assert_array_equal(found.numpy(), labels)
    np.testing.assert_allclose(images.numpy(), (raw / 255 - 0.5) / 0.3, atol=1e-5)
    assert context.samples(SERVER)[0] is images, "normalised once"
    assert loader.load(str(tmp_path / "run" / "scenario.toml")) == prepared.scenario


def test_a_run_without_server_data_says_so_when_asked(tmp_path: Path) -> None:
    prepared = prepare(loader.check(star_scenario()), None, tmp_path / "run")
    prepared.write()

    assert prepared.plan.node("cloud").samples == 0
    assert not (tmp_path / "run" / "server_data.npz").exists()
    assert "server_data" not in json.loads((tmp_path / "run" / "learning.json").read_text())
    context = TrainingContext(TINY, PARTS, models.build("tiny-mlp", (1, 28, 28), 10, seed=0))
    assert not context.has_server_samples
    with pytest.raises(ValueError, match=r"the server has no samples; .* lacks \[server_data\]"):
        context.samples(SERVER)
