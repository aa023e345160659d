"""Packets of many frames: a run with them is the run without them, to within a thousandth."""

import csv
from pathlib import Path

import pytest

from cli.fidelity import measure
from nodes.fidelity_matrix import MatrixCell
from tests.support import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.timeout(400)]

# ResNet-18 takes long enough at 500 Mbit/s for packets to be large.
SCENARIO = """
name = "large-packets"
clock = "virtual"
[task]
dataset = "tiny"
model = "resnet18"
samples_per_client = 10
[protocol]
name = "fedavg"
rounds = 2
[topology]
kind = "star"
clients = 3
[links]
client-cloud = { rate = "500mbit", delay = "10ms" }
[devices]
client = "instant"
cloud = "instant"
"""


def _counts(path: Path, what: str) -> list[float]:
    with (path / "links.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["round"] != "0"]
    return [float(row[f"{what}_{way}"]) for row in rows for way in ("up", "down")]


def test_large_packets_change_neither_times_nor_counters(tmp_path: Path) -> None:
    runs = {
        offload: emulated.run(SCENARIO, tmp_path / offload, "--set", f"transport.offload={offload}")
        for offload in ("true", "false")
    }

    for run in runs.values():
        assert run.code == 0, run.output
        assert run.summary["fidelity"]["verdict"] == "exact", run.summary["fidelity"]
    elapsed = {offload: run.summary["elapsed_seconds"] for offload, run in runs.items()}
    assert elapsed["true"] != elapsed["false"]  # it really was on
    assert elapsed["true"] == pytest.approx(elapsed["false"], rel=0.001)
    # After a loss the receiver acknowledges every packet, and there are fewer of them.
    for what, within in (("bytes", 0.005), ("packets", 0.02)):
        large, small = (_counts(runs[offload].directory, what) for offload in ("true", "false"))
        assert large == pytest.approx(small, rel=within)


def test_a_large_model_takes_the_same_time_either_way() -> None:
    cells = [MatrixCell(1e9, 0.01, senders, bytes_each=45_000_000) for senders in (1, 8)]

    large, small = (
        measure(cells, "virtual", lambda cell: None, offload=offload) for offload in (True, False)
    )

    for ours, plain in zip(large, small, strict=True):
        assert (ours["frames"], plain["frames"]) == (8, 1)
        assert ours["seconds"] == pytest.approx(plain["seconds"], rel=0.001)
