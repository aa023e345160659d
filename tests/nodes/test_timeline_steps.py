"""What the timeline does to links and tells to whom, step by step; time is moved by hand."""

from typing import Any

import pytest

from tests.support.played_timeline import Play

SCENARIO: dict[str, Any] = {
    "name": "steps",
    "clock": "virtual",
    "task": {"dataset": "tiny", "model": "tiny-mlp", "classes": 9, "partition": "main-classes"},
    "protocol": {"name": "multicell", "rounds": 2},
    "topology": {"kind": "cells", "cells": 3, "alone": 1, "overlap": 1},
    "links": {"client-edge": {"rate": "1mbit", "delay": "10ms"}},
    "devices": {"client": "phone", "edge": "laptop-core"},
}


def play(*events: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(SCENARIO | {"timeline": list(events)}, monkeypatch)


def move(at: str, *to: int, client: str = "client1", **keys: Any) -> dict[str, Any]:
    return {"at": at, "event": "handover", "client": client, "to": list(to), **keys}


def test_a_hard_handover_has_no_link_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    played = play(move("1s", 2, interruption="200ms"), monkeypatch=monkeypatch)

    assert played.until(1.0) == [
        ("client1-cell1", "down"),
        ("edge1", "left", "client1"),
        ("client1", "cells", []),
    ]
    assert played.until(1.1) == []
    assert played.until(1.2) == [("client1-cell2", "up"), ("client1", "cells", ["edge2"])]
    (record,) = played.stage.records
    assert record["link_seconds"] == pytest.approx(0.2)
    assert (record["from"], record["to"]) == (["edge1"], ["edge2"])


def test_a_soft_handover_keeps_the_old_link_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    soft = move("1s", 2, mode="make-before-break", hold="1s")
    played = play(soft, monkeypatch=monkeypatch)

    assert played.until(1.0) == [("client1-cell2", "up"), ("client1", "cells", ["edge2", "edge1"])]
    assert played.until(2.0) == [
        ("client1-cell1", "down"),
        ("edge1", "left", "client1"),
        ("client1", "cells", ["edge2"]),
    ]
    assert played.stage.records[0]["link_seconds"] == 0


def test_into_an_overlap_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    played = play(move("1s", 1, 2), monkeypatch=monkeypatch)

    assert played.until(1.0) == [("client1-cell2", "up"), ("client1", "cells", ["edge1", "edge2"])]


def test_another_handover_does_not_cut_an_interruption_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = move("1s", 2, interruption="500ms"), move("1.1s", 3)
    played = play(first, second, monkeypatch=monkeypatch)

    played.until(1.0)
    assert played.until(1.4) == []
    assert played.until(1.5) == [("client1-cell3", "up"), ("client1", "cells", ["edge3"])]
    (record,) = played.stage.records
    assert (record["from"], record["to"]) == (["edge1"], ["edge3"])
    assert (record["start"], record["link_seconds"]) == (1.0, 0.5)


def test_a_server_that_has_finished_neither_crashes_nor_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (
        {"at": "1s", "event": "crash", "node": "edge2"},
        {"at": "2s", "event": "restart", "node": "edge2"},
    )
    played = play(*events, monkeypatch=monkeypatch)
    played.timeline.server_finished("edge2")
    assert ("client4", "cells", ["edge1"]) in played.until(0.5)

    assert played.until(3.0) == []


def test_a_server_may_crash_again_before_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [("1s", "crash"), ("2s", "restart"), ("3s", "crash"), ("4s", "restart")]
    events = [{"at": at, "event": kind, "node": "edge2"} for at, kind in times]
    played = play(*events, monkeypatch=monkeypatch)

    done = [step[1] for step in played.until(5.0) if step[0] == "edge2"]

    assert done == ["crash", "restart", "crash", "restart"]


def test_a_client_that_crashed_is_told_nothing_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (
        {"at": "1s", "event": "crash", "node": "client4"},
        {"at": "3s", "event": "restart", "node": "client4"},
    )
    played = play(*events, move("2s", 2, client="client4"), monkeypatch=monkeypatch)

    assert played.until(1.0) == [
        ("edge1", "left", "client4"),
        ("edge2", "left", "client4"),
        ("client4", "crash"),
    ]
    assert played.until(2.0) == [("client4-cell1", "down"), ("edge1", "left", "client4")]
    assert played.until(3.0) == [("client4", "restart"), ("client4", "cells", ["edge2"])]


def test_nobody_is_told_to_join_a_server_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = (
        {"at": "1s", "event": "crash", "node": "edge2"},
        {"at": "5s", "event": "restart", "node": "edge2"},
    )
    played = play(*events, move("2s", 1, 2), monkeypatch=monkeypatch)

    assert played.until(1.0)[1:] == [
        ("client2", "cells", []),
        ("client4", "cells", ["edge1"]),
        ("client6", "cells", ["edge3"]),
    ]
    assert played.until(2.0) == [("client1-cell2", "up"), ("client1", "cells", ["edge1"])]
    played.until(5.0)
    played.timeline.server_takes_joins("edge2")
    told = played.until(5.0)
    assert told[0] == ("edge2", "rejoining", ["client1", "client2", "client4", "client6"])
    assert ("client1", "cells", ["edge1", "edge2"]) in told
