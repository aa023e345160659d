"""Cells that overlap, over real sockets: who trains what for whom, under each method."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support import emulated

pytestmark = [
    pytest.mark.emulation,
    pytest.mark.beside,
    pytest.mark.xdist_group("cells"),  # its runs are shared by several tests
]

CELLS = """
name = "cells"
clock = "virtual"
seed = 3
[task]
dataset = "tiny"
classes = 9
model = "tiny-mlp"
partition = "main-classes"
samples_per_client = 20
learning_rate = 0.05
rho = [0.6, 1.0]
[topology]
kind = "cells"
cells = 3
alone = 1
overlap = 1
[links]
client-edge = { rate = "10mbit", delay = "10ms" }
[devices]
client = "phone"
edge = "laptop-core"
"""


def run(folder: Path, protocol: str, text: str = CELLS) -> emulated.Outcome:
    outcome = emulated.run(f"{text}\n[protocol]\n{protocol}\nrounds = 2\n", folder)
    assert outcome.code == 0, outcome.output
    assert outcome.summary["fidelity"]["verdict"] == "exact"
    return outcome


def each_round(outcome: emulated.Outcome, phase: str, node: str) -> Counter[str]:
    """Return the peers with which the node had this phase in round 2."""
    events = [e for e in outcome.events(phase) if e["node"] == node and e["round"] == 2]
    return Counter(event["peer"] for event in events)


ALONE, BETWEEN = "client1", "client4"  # in cell 1; in cells 1 and 2


@pytest.fixture(scope="module")
def multicell(tmp_path_factory: pytest.TempPathFactory) -> emulated.Outcome:
    return run(tmp_path_factory.mktemp("multicell"), 'name = "multicell"')


def test_an_overlap_client_trains_a_model_for_each_cell_one_after_another(
    multicell: emulated.Outcome,
) -> None:
    outcome = multicell
    for phase in ("download", "compute", "upload"):
        assert each_round(outcome, phase, ALONE) == {"edge1": 1}
        assert each_round(outcome, phase, BETWEEN) == {"edge1": 1, "edge2": 1}
    first, second = sorted(
        (e["start"], e["end"])
        for e in outcome.events("compute")
        if e["node"] == BETWEEN and e["round"] == 1
    )
    assert second[0] >= first[1]
    assert outcome.summary["rounds"] == 2
    assert set(outcome.summary["accuracy_by_rho"]) == {"0.6", "1.0"}
    assert {path.name for path in outcome.directory.glob("final*")} == {
        f"final-edge{number}.model" for number in (1, 2, 3)
    }


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, multicell: emulated.Outcome) -> None:
    again = run(tmp_path, 'name = "multicell"')

    for name in ("events.jsonl", "rounds.csv", "cells.csv", "final-edge2.model"):
        first, second = (folder / name for folder in (multicell.directory, again.directory))
        assert first.read_bytes() == second.read_bytes()


def test_in_fedmes_it_trains_once_and_sends_to_both(tmp_path: Path) -> None:
    outcome = run(tmp_path, 'name = "fedmes"')

    assert each_round(outcome, "download", BETWEEN) == {"edge1": 1, "edge2": 1}
    assert sum(each_round(outcome, "compute", BETWEEN).values()) == 1
    assert each_round(outcome, "upload", BETWEEN) == {"edge1": 1, "edge2": 1}


def test_in_es_fl_it_belongs_to_its_own_cell(tmp_path: Path) -> None:
    outcome = run(tmp_path, 'name = "es-fl"')

    for phase in ("download", "compute", "upload"):
        assert each_round(outcome, phase, BETWEEN) == {"edge1": 1}


def test_hierfavg_has_edge_rounds_and_a_cloud_above(tmp_path: Path) -> None:
    with_cloud = CELLS.replace("overlap = 1", "cloud = true")
    with_cloud = with_cloud.replace("[links]", '[links]\nedge-cloud = "wan-continent"')
    with_cloud = with_cloud.replace("[devices]", '[devices]\ncloud = "droplet-1gb"')

    outcome = run(tmp_path, 'name = "hierfavg"\nlocal_epochs = 1\nedge_rounds = 3', with_cloud)

    assert each_round(outcome, "compute", ALONE) == {"edge1": 3}
    assert each_round(outcome, "upload", "edge1") == {"cloud": 1}
    assert (outcome.directory / "final.model").exists()
