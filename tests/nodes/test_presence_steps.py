"""What the timeline does when clients come and go, and when servers of a tree crash."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.played_timeline import Play
from tests.support.scenario_trees import tree_scenario


def event(at: str, kind: str, node: str) -> dict[str, Any]:
    return {"at": at, "event": kind, "node": node}


def there(folder: Path, rows: str, *events: dict[str, Any]) -> dict[str, Any]:
    file = folder / "there.csv"
    file.write_text(rows)
    return tree_scenario(availability={"trace": str(file)}, timeline=list(events))


def test_who_goes_away_loses_the_link_and_has_it_again_when_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play = Play(there(tmp_path, "client1,0,2\nclient1,5,\n"), monkeypatch)

    assert play.until(2.0) == [
        ("client1-lan1", "down"),
        ("inst1", "left", "client1"),
        ("client1", "cells", []),
    ]
    assert play.until(5.0) == [("client1-lan1", "up"), ("client1", "cells", ["inst1"])]
    phases = [(record["phase"], record["start"]) for record in play.stage.records]
    assert phases == [("away", 2.0), ("back", 5.0)]


def test_who_is_away_at_first_leaves_at_time_zero(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play = Play(there(tmp_path, "client4,1,\n"), monkeypatch)

    assert play.until(0.0)[0] == ("client4-lan2", "down")


def test_a_client_restarted_while_it_is_away_hears_nothing_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crash, restart = event("3s", "crash", "client1"), event("4s", "restart", "client1")
    play = Play(there(tmp_path, "client1,0,2\nclient1,5,\n", crash, restart), monkeypatch)
    play.until(2.0)

    assert play.until(3.0) == [("client1", "crash")]
    assert play.until(4.0) == [("client1", "restart"), ("client1", "cells", [])]
    assert ("client1", "cells", ["inst1"]) in play.until(5.0)


def test_an_institution_that_crashes_is_missed_above_and_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = [event("1s", "crash", "inst1"), event("2s", "restart", "inst1")]
    play = Play(tree_scenario(timeline=events), monkeypatch)
    clients = ["client1", "client2", "client3"]

    assert play.until(1.0) == [
        ("cloud", "left", "inst1"),
        ("inst1", "crash"),
        *((client, "cells", []) for client in clients),
    ]
    assert play.until(2.0) == [("inst1", "restart")]
    play.timeline.server_takes_joins("inst1")
    assert play.until(2.0) == [
        ("inst1", "rejoining", clients),
        *((client, "cells", ["inst1"]) for client in clients),
        ("inst1", "cells", ["cloud"]),
    ]


def test_a_cloud_that_crashes_is_missed_by_the_institutions_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = [event("1s", "crash", "cloud"), event("2s", "restart", "cloud")]
    play = Play(tree_scenario(timeline=events), monkeypatch)

    assert play.until(1.0) == [("cloud", "crash"), ("inst1", "cells", []), ("inst2", "cells", [])]
    play.until(2.0)
    play.timeline.server_takes_joins("cloud")
    assert play.until(2.0) == [
        ("cloud", "rejoining", ["inst1", "inst2"]),
        ("inst1", "cells", ["cloud"]),
        ("inst2", "cells", ["cloud"]),
    ]


def test_a_restarted_server_does_not_wait_for_who_is_away_or_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    events = (
        event("1s", "crash", "inst1"),
        event("1s", "crash", "client3"),
        event("3s", "restart", "inst1"),
    )
    play = Play(there(tmp_path, "client2,0,2\n", *events), monkeypatch)
    play.until(3.0)

    play.timeline.server_takes_joins("inst1")

    assert play.until(3.0)[0] == ("inst1", "rejoining", ["client1"])


def test_an_institution_is_not_restarted_once_the_cloud_has_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = [event("1s", "crash", "inst1"), event("3s", "restart", "inst1")]
    play = Play(tree_scenario(timeline=events), monkeypatch)
    play.until(1.0)
    play.timeline.server_finished("cloud")

    assert ("inst1", "restart") not in play.until(3.0)
