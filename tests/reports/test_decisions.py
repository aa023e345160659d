"""What a method decided, read back and drawn."""

from pathlib import Path
from typing import Any, cast

from contracts.events import Details
from reports.figures.decisions import decisions, draw_decisions
from reports.records.events import Event


def aggregate(node: str, round: int, **decided: Any) -> Event:
    return Event(node, "aggregate", round, 0.0, 1.0, round, None, cast(Details, decided))


def test_decisions_are_read_back_for_one_server_in_the_order_of_rounds() -> None:
    events = [
        aggregate("cloud", 1, epochs={"i1": 6, "i2": 3}, bytes=5),
        aggregate("i1", 1, weights={"c1": 1.0}),
        aggregate("cloud", 2, epochs={"i1": 12, "i2": 3}, note="plain text"),
    ]

    assert decisions(events, "cloud") == {
        "epochs": {"i1": [(1, 6), (2, 12)], "i2": [(1, 3), (2, 3)]}
    }


def test_a_picture_is_drawn_only_where_something_was_decided(tmp_path: Path) -> None:
    some = {"weights": {"i1": [(1, 0.5), (2, 0.4)], "i2": [(1, 0.5), (2, 0.6)]}}

    draw_decisions(tmp_path / "some.png", "title", some)
    draw_decisions(tmp_path / "none.png", "title", {})

    assert (tmp_path / "some.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "none.png").exists()
