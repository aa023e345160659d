"""Writes small run directories that have just the records that a comparison reads."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli_w

from contracts.provenance import PluginUsed, Provenance
from contracts.schema import SCHEMA
from reports.comparison.groups import Group, Spread
from reports.comparison.metrics import Metric

_COLUMNS = "round,link,tier,bytes_up,bytes_down,packets_up,packets_down,drops_up,drops_down"
BYTES_A_ROUND = 3_000_000
PROVENANCE = Provenance(
    schema=SCHEMA,
    version="0.2.0",
    commit="0123456789abcdef0123456789abcdef01234567",
    changed=False,
    kernel="6.1.1 (some)",
    torch="2.1.0",
    engine="torch",
    processor="Some Processor",
    python="3.11.2 (main, some day)",
    plugins=(PluginUsed("mine", "/home/a/mine.py", 64 * "e"),),
)


def scenario(name: str = "fig2", **changes: Any) -> dict[str, Any]:
    """Return a resolved scenario; keys of `changes` have __ in place of dots."""
    tree: dict[str, Any] = {
        "name": name,
        "variant": "",
        "size": "",
        "clock": "virtual",
        "seed": 1,
        "task": {"dataset": "fashionmnist", "model": "lenet5", "target_accuracy": 0.8},
        "protocol": {"name": "fedavg", "rounds": 4},
        "links": {"edge-cloud": {"profile": "wan", "rate": "20mbit", "delay": "40ms"}},
        "devices": {"client": {"profile": "gpu", "speed": 5e12, "memory": 10}},
        "compute": {"workers": 0},
    }
    for key, value in changes.items():
        *parents, last = key.split("__")
        place = tree
        for parent in parents:
            place = place[parent.replace("_", "-")]
        if value is None:
            place.pop(last)
        else:
            place[last] = value
    return tree


def write_run(
    directory: Path,
    tree: dict[str, Any] | None = None,
    accuracies: Sequence[float | None] = (0.1, 0.5, 0.7, 0.82, 0.81),
    round_seconds: float = 100.0,
    **summary: Any,
) -> Path:
    """Write a run with one accuracy per round from 0 on; `summary` changes keys of summary.json."""
    tree = tree or scenario()
    directory.mkdir(parents=True)
    (directory / "scenario.toml").write_text(tomli_w.dumps(tree))
    rows = ["round,elapsed_seconds,accuracy,loss,download,compute,upload,wait,aggregate"]
    links = [_COLUMNS]
    for number, accuracy in enumerate(accuracies):
        text = "" if accuracy is None else f"{accuracy:.6f}"
        rows.append(f"{number},{number * round_seconds:.6f},{text},,0,0,0,0,0")
        # Round 0 (joining) and a server's attachment do not count as bytes on the wire.
        links.append(f"{number},edge1-wan,edge-cloud,{BYTES_A_ROUND - 1000},1000,9,9,0,0")
        links.append(f"{number},cloud-wan,attachment,999,999,9,9,0,0")
    (directory / "rounds.csv").write_text("\n".join(rows) + "\n")
    (directory / "links.csv").write_text("\n".join(links) + "\n")
    found = {
        "name": tree["name"],
        "variant": tree["variant"],
        "protocol": tree["protocol"]["name"],
        "clock": tree["clock"],
        "seed": tree["seed"],
        "target_accuracy": tree["task"].get("target_accuracy"),
        "bytes_on_wire": BYTES_A_ROUND * (len(accuracies) - 1),
        "fidelity": {"verdict": "exact"},
        "failure": None,
        "provenance": asdict(PROVENANCE),
    }
    (directory / "summary.json").write_text(json.dumps(found | summary))
    return directory


def spread_of(group: Group, metric: Metric) -> Spread:
    """Return the metric over a group's runs, at least one of which must have it."""
    found = group.spread(metric)
    assert found is not None, f"{group.label}: no {metric.name}"
    return found
