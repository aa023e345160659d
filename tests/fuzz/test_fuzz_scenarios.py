"""Scenario and sweep files of the library, changed at random: loaded and planned, or refused."""

from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w

from contracts.errors import BadInput
from scenarios import expansion, files, loader, planner, sweeps
from scenarios.task_facts import TaskFacts
from tests.fuzz.bounds import expecting_bad_input, fuzzed
from tests.fuzz.mutations import mutated_bytes, mutated_tree
from tests.support.scenario_trees import TENSORS

_FOLDER = TemporaryDirectory(prefix="metronome-fuzz-")
FILE = Path(_FOLDER.name, "s.toml")
_MOST_NODES = 60  # of what is planned: larger networks take no other way
_MOST_RUNS = 40


@cache
def scenario_trees() -> list[dict[str, Any]]:
    """Return the library's scenarios, each whole and with all that it extends."""
    return [files.read_tree(path) for path in files.library().values()]


@cache
def resolved_texts() -> list[str]:
    return [loader.dump(loader.load(name)) for name in files.library()]


@cache
def sweep_trees() -> list[dict[str, Any]]:
    return [files.read_tree(path) for path in sweeps.library().values()]


def load_and_plan(path: Path) -> None:
    scenario = loader.load(str(path))
    clients = scenario.topology.client_count
    if clients <= _MOST_NODES and not any(d.measured for d in scenario.devices.values()):
        facts = TaskFacts(samples=[10] * clients, flops_per_step=10**6, tensors=TENSORS, classes=60)
        planner.plan(scenario, facts, run="run", trainer="pool")


def as_toml(tree: dict[str, Any], chance: Random) -> bytes:
    """Write a tree as TOML, without what TOML cannot say."""
    while True:
        try:
            return tomli_w.dumps(tree).encode("utf-8", "replace")
        except (TypeError, RecursionError, AttributeError):
            tree = mutated_tree(chance.choice(scenario_trees()), chance)


@fuzzed(gate=100)
def test_scenarios_with_values_changed(number: int) -> None:
    chance = Random(number)
    FILE.write_bytes(as_toml(mutated_tree(chance.choice(scenario_trees()), chance), chance))

    with expecting_bad_input():
        load_and_plan(FILE)


@fuzzed(gate=100)
def test_resolved_scenarios_with_bytes_changed(number: int) -> None:
    chance = Random(number)
    FILE.write_bytes(mutated_bytes(chance.choice(resolved_texts()).encode(), chance))

    with expecting_bad_input():
        load_and_plan(FILE)


@fuzzed(gate=60)
def test_sweeps_with_values_changed(number: int) -> None:
    chance = Random(number)
    FILE.write_bytes(as_toml(mutated_tree(chance.choice(sweep_trees()), chance), chance))

    with expecting_bad_input():
        sweep = sweeps.read(str(FILE))
        parts = [part.model_copy(update={"grid": _short(part.grid)}) for part in sweep.runs[:2]]
        few = sweep.model_copy(update={"runs": parts})
        expansion.expand(few, expansion.SweepOptions(seeds=[1]))


@fuzzed(gate=100)
def test_changes_of_the_command_line(number: int) -> None:
    chance = Random(number)
    key = chance.choice(("task.model", "links.edge-cloud", "protocol.rounds", "seed", "a.b", ""))
    text = f"{key}={mutated_bytes(b'{ rate = 10, delay = 3 }', chance).decode(errors='replace')}"

    with expecting_bad_input():
        loader.load("quickstart", changes=[text], links=[text])


def _short(grid: dict[str, Any]) -> dict[str, Any]:
    """Keep two values of each list, so that an example has few runs."""
    return {key: values[:2] for key, values in list(grid.items())[:3]}


def test_the_unchanged_library_is_accepted() -> None:
    for text in resolved_texts():
        FILE.write_text(text)
        try:
            load_and_plan(FILE)
        except BadInput as error:
            raise AssertionError(text) from error
