"""Writes a small made-up run directory with the records that a real run would leave."""

import json
import math
from pathlib import Path
from typing import Any

from contracts.links import LinkSpec, Shape
from contracts.plan import Limits, NodeSpec, Plan
from contracts.provenance import Provenance
from contracts.schema import SCHEMA
from contracts.training import TrainingSettings

MODEL_BYTES = 246_824  # LeNet-5
COLUMNS = "round,link,tier,bytes_up,bytes_down,packets_up,packets_down,drops_up,drops_down"

TRAINING = TrainingSettings(
    batch_size=10, learning_rate=0.01, momentum=0.0, weight_decay=0.0, shuffle=True
)
LIMITS = Limits(
    join=60.0, round=1800.0, patience=None, late="abort", quorum=1.0, message=512_000_000
)

Fields = dict[str, Any]


def event(node: str, phase: str, round: int, start: float, end: float, **more: Any) -> Fields:
    return {"node": node, "phase": phase, "round": round, "start": start, "end": end, **more}


def star_plan(clients: int) -> Plan:
    """Plan a cloud and that many clients over LTE."""
    names = tuple(f"client{i + 1}" for i in range(clients))
    up, down = Shape(10e6, 0.05, 0.0, 0.0, 100), Shape(30e6, 0.05, 0.0, 0.0, 300)
    return Plan(
        run="fake",
        clock="virtual",
        seed=1,
        protocol="fedavg",
        rounds=12,
        topology="star",
        topology_numbers={"clients": clients},
        nodes=(
            _node("cloud", "cloud", None, names),
            *(_node(name, "client", "cloud", ()) for name in names),
        ),
        links=(
            LinkSpec("cloud", "wan", None, None, None, None),
            *(LinkSpec(name, "wan", "client-cloud", "lte", up, down) for name in names),
        ),
        settings={},
        training=TRAINING,
        limits=LIMITS,
        trainer="pool",
        pause="sleep",
        provenance=Provenance(schema=SCHEMA),
    )


def _node(name: str, role: str, parent: str | None, children: tuple[str, ...]) -> NodeSpec:
    return NodeSpec(name, role, -1, parent, None, children, {}, "phone", 0.001, 1e9, 600)


class FakeRun:
    """The run of a star whose rounds are all alike; client2 computes longest."""

    def __init__(self, directory: Path, rounds: int = 12, clients: int = 3) -> None:
        self.directory, self.plan = directory, star_plan(clients)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "plan.json").write_text(self.plan.to_json())
        self._write_evaluations(rounds)
        self._write_links(rounds)
        events = [e for round in range(1, rounds + 1) for e in self._round(round)]
        self.write_events(events[::-1])

    def write_events(self, events: list[Fields]) -> None:
        lines = "".join(json.dumps(e) + "\n" for e in events)
        (self.directory / "events.jsonl").write_text(lines)

    def _write_evaluations(self, rounds: int) -> None:
        lines = [
            {
                "round": number,
                "key": "global",
                "accuracy": 0.1 + 0.72 * (1 - math.exp(-number / 3)),
                "loss": 2.3 * math.exp(-number / 5),
            }
            for number in range(rounds + 1)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.directory / "evaluations.jsonl").write_text(text)

    def _write_links(self, rounds: int) -> None:
        lines = [COLUMNS]
        carried = round(MODEL_BYTES * 1.04)
        children = self.plan.nodes[0].children
        for number in range(rounds + 1):
            whole = carried * len(children) if number else 500
            lines.append(f"{number},cloud-wan,attachment,{whole},{whole},9,9,0,0")
            each = carried if number else 100
            lines += [
                f"{number},{name}-wan,client-cloud,{each},{each},300,300,1,0" for name in children
            ]
        (self.directory / "links.csv").write_text("\n".join(lines) + "\n")

    def _round(self, round: int) -> list[Fields]:
        began, length = 20.0 * (round - 1), 20.0
        found: list[Fields] = []
        last = began + length - 1
        for place, name in enumerate(self.plan.nodes[0].children):
            done = began + 1 + (16 if place == 1 else 10 + place)
            moved = {"local_round": round, "peer": "cloud", "bytes": MODEL_BYTES}
            timing = {"modelled": done - began - 1.25, "overrun": 0.25, "epochs": 2}
            found += [
                event(name, "download", round, began, began + 1, **moved),
                event(name, "compute", round, began + 1, done, local_round=round, **timing),
                event(name, "upload", round, done, done + 2, **moved),
                event(name, "wait", round, done + 2, last, local_round=round),
            ]
        return [
            *found,
            event("cloud", "wait", round, began, last, local_round=round),
            event("cloud", "aggregate", round, last, began + length, local_round=round),
            event("cloud", "round", round, began, began + length),
        ]
