"""Clients that train alone: nothing crosses a link, and every client's model is evaluated."""

import json
from pathlib import Path

import pytest

from tests import emulated

pytestmark = [pytest.mark.emulation, pytest.mark.beside]


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
