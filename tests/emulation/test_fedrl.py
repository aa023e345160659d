"""FedRL's review takes its time on the device; clients that train alone send nothing."""

import json
from pathlib import Path

import pytest

from contracts.plan import Plan
from tests.support import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside]


def test_a_review_takes_the_devices_time_for_it(tmp_path: Path) -> None:
    changes = ("--set", "protocol.name=fedrl", "--set", "protocol.rounds=1", "--clock", "virtual")

    outcome = emulated.run(emulated.STAR, tmp_path, *changes)

    assert outcome.code == 0, outcome.output
    plan = Plan.from_json((outcome.directory / "plan.json").read_text())
    client = plan.node("client1")
    plain, review = 20 * client.seconds_per_step, client.rule_seconds(20)
    assert len(client.extra_seconds) == 5  # LeNet-5's layers
    assert 0.1 * plain < review < plain
    for event in outcome.events("compute"):
        assert event["end"] - event["start"] == pytest.approx(plain + review, abs=2e-6)


def test_clients_alone_send_nothing_and_are_judged_one_by_one(tmp_path: Path) -> None:
    changes = ("--set", "protocol.name=solo", "--clock", "virtual")

    outcome = emulated.run(emulated.STAR, tmp_path, *changes)

    assert outcome.code == 0, outcome.output
    assert outcome.summary["bytes_on_wire"] == 0
    assert outcome.summary["fidelity"]["verdict"] == "exact"
    text = (outcome.directory / "evaluations.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert {line["key"] for line in lines} == {"client1", "client2"}
    last = [line["accuracy"] for line in lines if line["round"] == 2]
    assert outcome.summary["final_accuracy"] == pytest.approx(sum(last) / 2)
    assert {event["node"] for event in outcome.events("compute")} == {"client1", "client2"}
