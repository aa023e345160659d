"""Writes a made-up run on three cells with two main classes each and rounds of ten seconds."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from contracts.plan import CellPlan
from tests.support.fake_run import event, star_plan

EDGES = ("edge1", "edge2", "edge3")
MAIN: dict[str, tuple[int, ...]] = {"edge1": (0, 1), "edge2": (2, 3), "edge3": (4, 5)}
KEYS = (*EDGES, "average")


def cells(rho: list[float], cloud: bool = False) -> CellPlan:
    """Return the plan's part on the cells."""
    return CellPlan(edges=EDGES, main_classes=MAIN, rho=tuple(rho), has_cloud=cloud)


def line(round: int, key: str, by_class: list[float | None], loss: float = 1.0) -> dict[str, Any]:
    """Return a line of evaluations.jsonl; a cell's accuracy follows from `by_class` alone."""
    return {"round": round, "key": key, "accuracy": 0.5, "loss": loss, "by_class": by_class}


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(fields) + "\n" for fields in lines))


def write_run(
    directory: Path,
    lines: list[dict[str, Any]],
    rho: list[float],
    rounds: int = 1,
    cloud: bool = False,
) -> None:
    """Write plan, events and evaluations; each round ends at edge3."""
    directory.mkdir(parents=True, exist_ok=True)
    plan = dataclasses.replace(star_plan(1), topology="cells", cells=cells(rho, cloud))
    (directory / "plan.json").write_text(plan.to_json())
    write_lines(directory / "evaluations.jsonl", lines)
    ends = [
        event("edge3", "round", round, 10.0 * (round - 1), 10.0 * round)
        for round in range(1, rounds + 1)
    ]
    write_lines(directory / "events.jsonl", ends)
