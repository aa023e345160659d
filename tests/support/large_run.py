"""Writes the made-up records of a large run: ten institutions and a hundred rounds."""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from tests.support.fake_run import COLUMNS, MODEL_BYTES, event, star_plan

_INSTITUTIONS = 10


def write_large_run(directory: Path, nodes: int = 200, rounds: int = 100) -> None:
    """Write the records; times vary by node and round, drawn with a fixed seed."""
    directory.mkdir(parents=True, exist_ok=True)
    plan = _plan(nodes - 1 - _INSTITUTIONS, rounds)
    (directory / "plan.json").write_text(plan.to_json())
    draw = random.Random(1)
    events: list[dict[str, Any]] = []
    start = 0.0
    for round in range(1, rounds + 1):
        found, end = _round(plan, round, start, draw)
        events += [*found, event("cloud", "round", round, start, end)]
        start = end
    _write_lines(directory / "events.jsonl", events)
    scores = [{"round": n, "key": "global", "accuracy": 0.8 * n / (n + 5)} for n in range(rounds)]
    _write_lines(directory / "evaluations.jsonl", scores)
    carried = [
        f"{round},{link.name},{link.tier},{MODEL_BYTES},{MODEL_BYTES},300,300,0,0"
        for round in range(1, rounds + 1)
        for link in plan.links
    ]
    (directory / "links.csv").write_text("\n".join([COLUMNS, *carried]) + "\n")


def _plan(clients: int, rounds: int) -> Plan:
    star = star_plan(clients)
    cloud, *devices = star.nodes
    way = Shape(20e6, 0.02, 0.0, 0.0, 100)
    names = [f"inst{place + 1}" for place in range(_INSTITUTIONS)]
    homes = [names[place % _INSTITUTIONS] for place in range(clients)]
    below = [dataclasses.replace(d, parent=h) for d, h in zip(devices, homes, strict=True)]
    edges = [dataclasses.replace(cloud, name=n, role="edge", parent="cloud") for n in names]
    wide = [LinkSpec(name, "wan", "edge-cloud", "wan-droplet", way, way) for name in names]
    near = [
        LinkSpec(d.name, f"lan{home[4:]}", "client-edge", "wifi", way, way)
        for d, home in zip(devices, homes, strict=True)
    ]
    return dataclasses.replace(
        star, topology="tree", rounds=rounds, nodes=(cloud, *edges, *below), links=(*wide, *near)
    )


def _round(
    plan: Plan, round: int, start: float, draw: random.Random
) -> tuple[list[dict[str, Any]], float]:
    found, last = [], start
    for edge in (node for node in plan.nodes if node.role == "edge"):
        began = start + draw.uniform(0.2, 0.4)
        found.append(_transfer(edge.name, "download", round, start, began, "cloud"))
        ends = []
        for client in (node.name for node in plan.nodes if node.parent == edge.name):
            there = began + draw.uniform(0.1, 0.2)
            trained = there + draw.uniform(4, 6)
            ends.append(trained + draw.uniform(0.1, 0.2))
            found += [
                _transfer(client, "download", round, began, there, edge.name),
                event(client, "compute", round, there, trained, local_round=round, peer=edge.name),
                _transfer(client, "upload", round, trained, ends[-1], edge.name),
            ]
        done, arrived = max(ends), max(ends) + draw.uniform(0.2, 0.4)
        found.append(event(edge.name, "aggregate", round, done, done, local_round=round))
        found.append(_transfer(edge.name, "upload", round, done, arrived, "cloud"))
        last = max(last, arrived)
    return [
        *found,
        event("cloud", "aggregate", round, last, last + 0.1, local_round=round),
    ], last + 0.1


def _transfer(
    node: str, phase: str, round: int, start: float, end: float, peer: str
) -> dict[str, Any]:
    return event(node, phase, round, start, end, local_round=round, peer=peer, bytes=MODEL_BYTES)


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
