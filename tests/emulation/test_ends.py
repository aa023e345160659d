"""However a run ends, nothing of it remains and what was recorded stays readable."""

import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.support import emulated
from tests.support.emulated import STAR, TREE
from tests.support.waiting import wait_until

pytestmark = pytest.mark.emulation

LONG = ("--set", "protocol.rounds=500")


def start(folder: Path, scenario: str, *options: str) -> "subprocess.Popen[str]":
    return emulated.start(emulated.command(scenario, folder, *options), folder)


def rounds_recorded(folder: Path) -> bool:
    events = folder / "run" / "events.jsonl"
    return events.exists() and '"phase": "round"' in events.read_text()


@pytest.mark.parametrize("backend", ["guest", "native"])
def test_ctrl_c_ends_everything_and_keeps_the_records(tmp_path: Path, backend: str) -> None:
    before = emulated.leftovers()
    process = start(tmp_path, STAR, "--backend", backend, *LONG)
    wait_until(lambda: rounds_recorded(tmp_path))

    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 130, output
    assert emulated.leftovers() == before
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["failure"] == "interrupted"
    assert summary["rounds"] >= 1


@pytest.mark.parametrize("backend", ["guest", "native"])
def test_after_kill_9_of_the_runner_the_next_run_clears_away_the_rest(
    tmp_path: Path, backend: str
) -> None:
    before = emulated.leftovers()
    (tmp_path / "killed").mkdir()
    process = start(tmp_path / "killed", STAR, "--backend", backend, *LONG)
    wait_until(lambda: rounds_recorded(tmp_path / "killed"))

    process.kill()
    process.communicate(timeout=60)
    outcome = emulated.run(STAR, tmp_path / "next", "--backend", backend)

    assert outcome.code == 0, outcome.output
    assert emulated.leftovers() == before


def native_node(name: str) -> psutil.Process:
    """Find the process of a node of a native run, by the name that it has given itself."""
    [found] = [process for process in psutil.process_iter() if process.name() == name]
    return found


def test_a_node_that_dies_ends_the_run_with_its_name(tmp_path: Path) -> None:
    before = emulated.leftovers()
    process = start(tmp_path, STAR, "--backend", "native", *LONG)
    wait_until(lambda: rounds_recorded(tmp_path))

    native_node("client2").kill()
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 1, output
    assert "client2: its process was ended by signal 9" in output
    assert emulated.leftovers() == before
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["rounds"] >= 1


def test_with_a_quorum_the_run_goes_on_without_a_client_that_died(tmp_path: Path) -> None:
    quorum = ("--set", "limits.late=quorum", "--set", "limits.quorum=0.5")
    bounds = ("--set", "limits.round=8s", "--set", "protocol.rounds=6")
    slow = ("--set", "links.client-cloud.rate=5mbit")
    process = start(tmp_path, STAR, "--backend", "native", *quorum, *bounds, *slow)
    wait_until(lambda: rounds_recorded(tmp_path))

    native_node("client2").kill()
    output, _ = process.communicate(timeout=120)

    assert process.returncode == 0, output
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["lost"] == ["client2"]
    assert summary["rounds"] == 6


def test_an_update_that_never_comes_ends_the_run_at_its_deadline(tmp_path: Path) -> None:
    bounds = ("--set", "limits.round=2s", "--set", "links.client-cloud.rate=100kbit")

    outcome = emulated.run(STAR, tmp_path, "--backend", "native", *bounds)

    assert outcome.code == 1
    assert "no update from client1, client2 within 2 s" in " ".join(outcome.output.split())


def test_native_refuses_latency_on_a_kernel_without_netem(tmp_path: Path) -> None:
    from netem.capabilities import probe

    outcome = emulated.run(TREE, tmp_path, "--backend", "native")

    if probe().netem:
        assert outcome.code == 0, outcome.output
    else:
        assert outcome.code == 2
        assert "netem" in outcome.output
        assert "--backend guest" in outcome.output
        assert len(outcome.output.strip().splitlines()) == 1
        assert not (tmp_path / "run").exists()


def test_a_native_run_with_training_inside_the_nodes(tmp_path: Path) -> None:
    inline = ("--set", "compute.trainer=inline", "--set", "protocol.rounds=1")

    outcome = emulated.run(STAR, tmp_path, "--backend", "native", *inline)

    assert outcome.code == 0, outcome.output
    assert outcome.summary["rounds"] == 1
    assert os.path.getsize(outcome.directory / "links.csv") > 0
