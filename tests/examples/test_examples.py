"""The examples do what they say, and docs/extending.md shows them as they are."""

import re
from pathlib import Path

import numpy as np
import pytest

from cli.plugins import bring
from contracts.messages import SAMPLES
from contracts.project import ROOT
from learning.data import datasets, partitions
from netem import profiles
from protocols import registry
from protocols.base import Candidate, Candidates, Package, Server, Tensors
from scenarios import loader
from tests.support.plugin_files import EXAMPLES, nothing_brought
from tests.support.scenario_trees import star_scenario

__all__ = ["nothing_brought"]

PAGE = (ROOT / "docs" / "extending.md").read_text()
FILES = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_page_shows_the_whole_example(file: Path) -> None:
    assert f"```python\n{file.read_text()}```\n" in PAGE


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_example_says_how_to_run_it(file: Path) -> None:
    text = file.read_text().replace("\\\n", " ")
    found = re.search(r"\./metronome run (--plugin \S+.*)", text.replace("\\ ", " "))
    assert found is not None
    bring([str(ROOT / found[1].split()[1])])
    changes = re.findall(r"--set (\S+)", found[1])
    assert loader.load("quickstart", changes=changes).name == "quickstart"


def _server(name: str, model: Tensors, **settings: float) -> Server:
    method = registry.method(name)
    return method.Server(method.Settings(rounds=3, **settings), model)


def _round(server: Server, *updates: tuple[float, int]) -> float:
    """Hold a round with one number as the model, from (number, samples) of each client."""
    for child, (value, samples) in enumerate(updates):
        server.add(f"client{child}", Package({SAMPLES: samples}, {"w": np.array([value])}))
    server.finish()
    return float(server.model["w"][0])


def test_momentum_at_the_server_is_that_of_the_paper() -> None:
    bring([str(EXAMPLES / "fedavgm.py")])
    server = _server("fedavgm", {"w": np.array([10.0])}, beta=0.5)

    # v = 10 - 8 = 2, w = 8; then v = (8 - 7) + 0.5 * 2 = 2, w = 6; then v = (6 - 6) + 1 = 1, w = 5.
    assert _round(server, (9.0, 1), (7.0, 1)) == 8.0
    assert _round(server, (7.0, 1)) == 6.0
    assert _round(server, (6.0, 3)) == 5.0


def test_without_momentum_it_is_fedavg() -> None:
    bring([str(EXAMPLES / "fedavgm.py")])
    ours = _server("fedavgm", {"w": np.array([10.0])}, beta=0.0)
    plain = _server("fedavg", {"w": np.array([10.0])})

    for updates in ([(9.0, 1), (7.0, 3)], [(1.0, 2)]):
        assert _round(ours, *updates) == pytest.approx(_round(plain, *updates))


def test_momentum_survives_a_crash_of_the_server() -> None:
    bring([str(EXAMPLES / "fedavgm.py")])
    server = _server("fedavgm", {"w": np.array([10.0])}, beta=0.5)
    _round(server, (8.0, 1))
    restarted = _server("fedavgm", {"w": np.array([10.0])}, beta=0.5)
    restarted.restore_state(server.state_to_keep())

    assert _round(restarted, (7.0, 1)) == _round(server, (7.0, 1)) == 6.0


def test_fast_clients_are_preferred_once_everybody_was_tried() -> None:
    bring([str(EXAMPLES / "fast_clients.py")])
    server = _server("fast-clients", {}, clients_per_round=2, explore=0.0)
    seconds = {"client1": 9.0, "client2": 2.0, "client3": 4.0, "client4": None}

    def among(names: list[str]) -> list[str]:
        present = tuple(
            Candidate(name, 10, rounds=0 if seconds[name] is None else 1, seconds=seconds[name])
            for name in names
        )
        return list(server.select(Candidates(5, 60.0, present, drawn=("client1", "client3"))))

    assert among(["client1", "client2", "client3", "client4"]) == ["client4", "client2"]
    assert among(["client1", "client2", "client3"]) == ["client2", "client3"]


def test_a_share_of_the_round_is_left_to_chance() -> None:
    bring([str(EXAMPLES / "fast_clients.py")])
    server = _server("fast-clients", {}, clients_per_round=2, explore=0.5)
    present = tuple(Candidate(f"client{n}", 10, rounds=1, seconds=float(n)) for n in (1, 2, 3, 4))

    chosen = server.select(Candidates(5, 60.0, present, drawn=("client4", "client3")))

    assert list(chosen) == ["client4", "client1"]


def test_the_letters_can_be_learnt_and_are_the_same_every_time() -> None:
    bring([str(EXAMPLES / "next_letter.py")])

    one, other = datasets.load("sentences", None), datasets.load("sentences", None)

    assert (one.shape, one.classes, one.tokens) == ((16,), 28, True)
    np.testing.assert_array_equal(one.train_inputs[:], other.train_inputs[:])
    # The letter after a window is the last one of the next window.
    np.testing.assert_array_equal(one.train_labels[:-1], one.train_inputs[:][1:, -1])


def test_sizes_fall_with_the_rank_and_no_sample_is_dealt_twice() -> None:
    bring([str(EXAMPLES / "unequal_sizes.py")])

    parts = partitions.make("by-rank", np.arange(1000) % 10, 4, 100, None, seed=3)

    assert [len(part) for part in parts] == [192, 96, 64, 48]  # 400 by 1, 1/2, 1/3, 1/4
    assert len(np.unique(np.concatenate(parts))) == 400
    assert profiles.links()["train-wifi"]["rate_up"] == "2mbit"
    scenario = loader.check(star_scenario(links={"client-cloud": "train-wifi"}))
    assert scenario.links["client-cloud"].profile == "train-wifi"
