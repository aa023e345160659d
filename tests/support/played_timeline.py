"""A timeline that is played by hand: it remembers what it does to links and tells to whom."""

import time
from typing import Any

import pytest

from contracts.control import Cells, Left, Rejoining, Word
from nodes.timeline import Timeline
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts
from tests.support.scenario_trees import TENSORS


class Stage:
    """Remembers links, words and records in order."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.records: list[dict[str, Any]] = []

    def say(self, node: str, said: Word) -> None:
        assert isinstance(said, Cells | Left | Rejoining)
        about = {Cells: "hears", Left: "client", Rejoining: "children"}[type(said)]
        self.done.append((node, said.word, getattr(said, about)))

    def record(self, node: str, phase: str, start: float, end: float, **details: Any) -> None:
        self.records.append({"node": node, "phase": phase, "start": start, "end": end, **details})

    def crash(self, node: str) -> None:
        self.done.append((node, "crash"))

    def restart(self, node: str) -> None:
        self.done.append((node, "restart"))


class Link:
    def __init__(self, name: str, done: list[tuple[Any, ...]]) -> None:
        self._name, self._done = name, done

    def set_enabled(self, enabled: bool) -> None:
        self._done.append((self._name, "up" if enabled else "down"))


class Play:
    """A timeline whose clock stands where it was set."""

    def __init__(self, tree: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        scenario = loader.check(tree)
        samples = [20] * scenario.topology.client_count
        facts = TaskFacts(samples=samples, flops_per_step=1000, tensors=TENSORS, classes=9)
        plan = planner.plan(scenario, facts, run="run", trainer="pool")
        self.stage = Stage()
        links = {link.name: Link(link.name, self.stage.done) for link in plan.links}
        self.timeline = Timeline(plan, links, self.stage, self.stage.record)
        self.stage.done.clear()  # the links that are down at first
        self._patch = monkeypatch
        self.timeline.begin(0.0)

    def until(self, seconds: float) -> list[tuple[Any, ...]]:
        """What was done up to then, since the last time."""
        self._patch.setattr(time, "monotonic", lambda: seconds)
        self.timeline.advance()
        found = self.stage.done[:]
        self.stage.done.clear()
        return found
