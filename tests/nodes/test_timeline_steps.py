"""What the timeline does to links and tells to whom, step by step; time is moved by hand."""

import time
from typing import Any

import pytest

from contracts.control import Cells, Left, Word
from nodes.timeline import Timeline
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts
from tests.support.scenario_trees import TENSORS

SCENARIO: dict[str, Any] = {
    "name": "steps",
    "clock": "virtual",
    "task": {"dataset": "tiny", "model": "tiny-mlp", "classes": 9, "partition": "main-classes"},
    "protocol": {"name": "multicell", "rounds": 2},
    "topology": {"kind": "cells", "cells": 3, "alone": 1, "overlap": 1},
    "links": {"client-edge": {"rate": "1mbit", "delay": "10ms"}},
    "devices": {"client": "phone", "edge": "laptop-core"},
}


class Stage:
    """Remembers links, words and records in order."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.records: list[dict[str, Any]] = []

    def say(self, node: str, said: Word) -> None:
        assert isinstance(said, Cells | Left)
        told = said.hears if isinstance(said, Cells) else said.client
        self.done.append((node, said.word, told))

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

    def __init__(self, *events: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        scenario = loader.check(SCENARIO | {"timeline": list(events)})
        facts = TaskFacts(samples=[20] * 6, flops_per_step=1000, tensors=TENSORS, classes=9)
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


def move(at: str, *to: int, client: str = "client1", **keys: Any) -> dict[str, Any]:
    return {"at": at, "event": "handover", "client": client, "to": list(to), **keys}


def test_a_hard_handover_has_no_link_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(move("1s", 2, interruption="200ms"), monkeypatch=monkeypatch)

    assert play.until(1.0) == [
        ("client1-cell1", "down"),
        ("edge1", "left", "client1"),
        ("client1", "cells", []),
    ]
    assert play.until(1.1) == []
    assert play.until(1.2) == [("client1-cell2", "up"), ("client1", "cells", ["edge2"])]
    (record,) = play.stage.records
    assert record["link_seconds"] == pytest.approx(0.2)
    assert (record["from"], record["to"]) == (["edge1"], ["edge2"])


def test_a_soft_handover_keeps_the_old_link_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    soft = move("1s", 2, mode="make-before-break", hold="1s")
    play = Play(soft, monkeypatch=monkeypatch)

    assert play.until(1.0) == [("client1-cell2", "up"), ("client1", "cells", ["edge2", "edge1"])]
    assert play.until(2.0) == [
        ("client1-cell1", "down"),
        ("edge1", "left", "client1"),
        ("client1", "cells", ["edge2"]),
    ]
    assert play.stage.records[0]["link_seconds"] == 0


def test_into_an_overlap_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(move("1s", 1, 2), monkeypatch=monkeypatch)

    assert play.until(1.0) == [("client1-cell2", "up"), ("client1", "cells", ["edge1", "edge2"])]


def test_another_handover_does_not_cut_an_interruption_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = move("1s", 2, interruption="500ms"), move("1.1s", 3)
    play = Play(first, second, monkeypatch=monkeypatch)

    play.until(1.0)
    assert play.until(1.4) == []
    assert play.until(1.5) == [("client1-cell3", "up"), ("client1", "cells", ["edge3"])]
    (record,) = play.stage.records
    assert (record["from"], record["to"]) == (["edge1"], ["edge3"])
    assert (record["start"], record["link_seconds"]) == (1.0, 0.5)


def test_a_server_that_has_finished_neither_crashes_nor_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (
        {"at": "1s", "event": "crash", "node": "edge2"},
        {"at": "2s", "event": "restart", "node": "edge2"},
    )
    play = Play(*events, monkeypatch=monkeypatch)
    play.timeline.server_finished("edge2")
    assert ("client4", "cells", ["edge1"]) in play.until(0.5)

    assert play.until(3.0) == []


def test_a_server_may_crash_again_before_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [("1s", "crash"), ("2s", "restart"), ("3s", "crash"), ("4s", "restart")]
    events = [{"at": at, "event": kind, "node": "edge2"} for at, kind in times]
    play = Play(*events, monkeypatch=monkeypatch)

    done = [step[1] for step in play.until(5.0) if step[0] == "edge2"]

    assert done == ["crash", "restart", "crash", "restart"]


def test_a_client_that_crashed_is_told_nothing_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (
        {"at": "1s", "event": "crash", "node": "client4"},
        {"at": "3s", "event": "restart", "node": "client4"},
    )
    play = Play(*events, move("2s", 2, client="client4"), monkeypatch=monkeypatch)

    assert play.until(1.0) == [
        ("edge1", "left", "client4"),
        ("edge2", "left", "client4"),
        ("client4", "crash"),
    ]
    assert play.until(2.0) == [("client4-cell1", "down"), ("edge1", "left", "client4")]
    assert play.until(3.0) == [("client4", "restart"), ("client4", "cells", ["edge2"])]


def test_nobody_is_told_to_join_a_server_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (
        {"at": "1s", "event": "crash", "node": "edge2"},
        {"at": "5s", "event": "restart", "node": "edge2"},
    )
    play = Play(*events, move("2s", 1, 2), monkeypatch=monkeypatch)

    assert play.until(1.0)[1:] == [
        ("client2", "cells", []),
        ("client4", "cells", ["edge1"]),
        ("client6", "cells", ["edge3"]),
    ]
    assert play.until(2.0) == [("client1-cell2", "up"), ("client1", "cells", ["edge1"])]
    play.until(5.0)
    play.timeline.server_takes_joins("edge2")
    assert ("client1", "cells", ["edge1", "edge2"]) in play.until(5.0)
