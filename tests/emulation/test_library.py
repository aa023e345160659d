"""Every scenario of the library really runs, at a small size and with data that everybody has."""

from pathlib import Path

import pytest

from scenarios import loader
from tests.support import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside]

FEW = ("protocol.rounds=1", "task.samples_per_client=20")
FEW_NODES = ("topology.institutions=2", "topology.clients_per_institution=2")
FEW_IN_CELLS = ("topology.alone=1", "topology.overlap=1", "protocol.local_epochs=1")
LITTLE_TRAINING = ("protocol.c=1", "protocol.edge_rounds=1", "task.samples_per_client=10")
# Of the scenarios that differ in their data only, one of each kind runs with its own large model.
HEAVY = ("resnet18", "multicell-cnn")
FULL_MODELS = ("tempo-cifar10-iid", "multicell-fashionmnist")
# What set-up does not bring: another of the same kind stands in for it here.
STAND_INS = {"mnist": "fashionmnist", "cifar10": "tiny", "cifar100": "tiny", "emnist": "tiny"}
FEW_AT_THE_SERVER = {
    "iid": ("server_data.samples=20",),
    "clients": ("server_data.clients=2", "server_data.samples_per_client=10"),
}


def small(name: str, *more: str) -> list[str]:
    """The command line's changes that make this scenario small."""
    scenario = loader.load(name)
    changes = [*FEW]
    if scenario.topology.kind == "tree" and scenario.topology.client_count > 10:
        changes += FEW_NODES
    if scenario.topology.kind == "star" and scenario.topology.client_count > 3:
        changes.append("topology.clients=3")
    if scenario.topology.kind == "cells":
        changes += FEW_IN_CELLS
    if scenario.server_data is not None:
        changes += FEW_AT_THE_SERVER[scenario.server_data.kind]
        changes += ("protocol.clients_per_round=2", "task.labels_per_client=2")
        changes += ("task.classes=10",) if scenario.task.classes else ()
    if scenario.task.model in HEAVY and name not in FULL_MODELS:
        changes.append("task.model=lenet5")
    if scenario.task.model == "resnet18":
        changes += LITTLE_TRAINING
    if scenario.task.model in HEAVY:
        changes.append("task.dataset=tiny")  # a small test set: evaluating takes longest of all
    elif stand_in := STAND_INS.get(scenario.task.dataset):
        changes.append(f"task.dataset={stand_in}")
    return [word for change in (*changes, *more) for word in ("--set", change)]


@pytest.mark.parametrize("name", loader.library())
def test_a_scenario_of_the_library_runs(tmp_path: Path, name: str) -> None:
    # Where the server has data of its own, the method that learns from them.
    method = ("--variant", "fsl") if loader.load(name).server_data else ()

    outcome = emulated.run_named(name, tmp_path, *method, *small(name))

    assert outcome.code == 0, outcome.output
    assert outcome.summary["rounds"] == 1
    assert outcome.summary["final_accuracy"] is not None
    assert outcome.summary["fidelity"]["verdict"] == "exact"


def test_tempos_decisions_reach_the_clients(tmp_path: Path) -> None:
    name = "tempo-fashionmnist-dirichlet-0.1"
    three = ("protocol.rounds=2", "topology.institutions=3")  # two are as far from their mean

    outcome = emulated.run_named(name, tmp_path, *small(name, *three))

    assert outcome.code == 0, outcome.output
    (first, _) = (e for e in outcome.events("aggregate") if e["node"] == "cloud")
    assert (min(first["epochs"].values()), max(first["epochs"].values())) == (3, 12)
    assert all(value > 0 for value in first["divergences"].values())
    seconds = {
        (event["round"], event["node"]): event["end"] - event["start"]
        for event in outcome.events("compute")
    }
    one_epoch = seconds[1, "client1"] / 6  # c everywhere in the first round
    parents = {e["node"]: e["peer"] for e in outcome.events("download") if "client" in e["node"]}
    for client, institution in parents.items():
        expected = first["epochs"][institution] * one_epoch
        assert seconds[2, client] == pytest.approx(expected, abs=2e-6)  # the clock's grain
    assert (outcome.directory / "decisions.png").exists()


def test_fedadp_weighs_at_the_cloud_and_at_every_institution(tmp_path: Path) -> None:
    name = "tempo-fashionmnist-dirichlet-0.1"

    outcome = emulated.run_named(name, tmp_path, "--variant", "fedadp-4", *small(name))

    assert outcome.code == 0, outcome.output
    aggregations = outcome.events("aggregate")
    assert len({event["node"] for event in aggregations}) == 3
    for event in aggregations:
        assert sum(event["weights"].values()) == pytest.approx(1)
        assert len(event["angles"]) == 2
