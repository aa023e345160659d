"""Rounds at a server over real sockets: what counts, and updates that must not."""

import dataclasses
import threading
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from contracts.control import Events
from contracts.messages import GLOBAL_ROUND
from nodes.parent import Parent, UpdateRefused
from nodes.serving.late_updates import RoundFailed
from protocols.base import Package
from tests.support.lines import PATIENCE, aside
from tests.support.stars import Build, Listener, model, stars


@pytest.fixture
def build() -> Iterator[Build]:
    with stars() as build:
        yield build


def test_a_round_combines_what_every_child_sends(build: Build) -> None:
    star = build(2, samples=[30, 10])
    star.join("client1", "client2")

    answers = [
        aside(lambda: star.answer("client1", 1, samples=30)),
        aside(lambda: star.answer("client2", 5, samples=10)),
    ]
    star.server.run(1, 1)

    assert {future.result(PATIENCE).meta[GLOBAL_ROUND] for future in answers} == {1}
    assert star.method.model["bias"].tolist() == [2, 2, 2, 2]
    assert star.method.samples == 40


def test_every_phase_of_a_round_is_on_the_record(build: Build) -> None:
    star = build(2)
    star.join("client1", "client2")

    for name in ("client1", "client2"):
        aside(partial(star.answer, name, 1))
    star.server.run(7, 3)

    star.listener.recorder.flush()
    [said] = star.listener._control.read()
    assert isinstance(said, Events)
    events = said.events
    assert {(event["node"], event["phase"]) for event in events} == {
        ("client1", "upload"),
        ("client2", "upload"),
        ("client1", "wait"),
        ("client2", "wait"),
        ("cloud", "wait"),
        ("cloud", "aggregate"),
    }
    assert all((event["round"], event["local_round"]) == (3, 7) for event in events)
    assert all(event["start"] <= event["end"] for event in events)
    uploads = [event for event in events if event["phase"] == "upload"]
    assert all(event["bytes"] == star.plan.model_bytes for event in uploads)


def test_aggregation_takes_the_time_of_moving_the_updates_through_memory(build: Build) -> None:
    star = build(1)
    star.join("client1")
    bytes_per_second = star.plan.model_bytes / 0.2
    star.server._spec = dataclasses.replace(
        star.server._spec, memory_bytes_per_second=bytes_per_second
    )

    aside(lambda: star.answer("client1", 1))
    star.server.run(1, 1)

    [event] = star.listener.events("aggregate")
    assert event["end"] - event["start"] == pytest.approx(0.2, abs=0.1)


def test_what_may_not_delay_anybody_happens_once_the_models_are_sent(build: Build) -> None:
    star = build(1)
    star.join("client1")
    received = threading.Event()

    def client() -> None:
        star.parents["client1"].next_model()
        received.set()
        star.parents["client1"].send_update(1, Package({"samples": 10}, model(1)))

    aside(client)
    star.server.run(1, 1, after_sending=lambda: _expect(received))

    assert received.is_set()


def _expect(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "the model was not on its way yet"


# Updates that must not count


def test_a_second_update_from_the_same_child_does_not_count_twice(build: Build) -> None:
    star = build(2)
    star.join("client1", "client2")

    def twice() -> None:
        star.answer("client1", 1)
        star.parents["client1"].send_update(1, Package({"samples": 10}, model(1)))
        star.answer("client2", 5)

    aside(twice)
    star.server.run(1, 1)

    assert star.method.model["bias"].tolist() == [3, 3, 3, 3]
    assert star.method.samples == 20


def test_an_update_for_another_round_is_refused_and_the_round_goes_on(build: Build) -> None:
    star = build(1)
    star.join("client1")

    def late_then_right() -> None:
        star.parents["client1"].send_update(1, Package({"samples": 10}, model(99)))
        star.answer("client1", 4)

    aside(late_then_right)
    star.server.run(2, 2)

    assert star.method.model["bias"].tolist() == [4, 4, 4, 4]
    [event] = star.listener.events("refused")
    assert (event["peer"], event["reason"]) == ("client1", "round")


def test_an_update_of_a_stranger_is_not_counted(build: Build) -> None:
    star = build(1)
    star.join("client1")
    spec = dataclasses.replace(star.plan.node("client1"), name="stranger")
    star.parents["stranger"] = Parent(spec, star.plan, Listener().recorder, star.port)

    def both() -> None:
        star.parents["stranger"].send_update(1, Package({"samples": 10}, model(99)))
        time.sleep(0.1)
        star.answer("client1", 4)

    aside(both)
    star.server.run(1, 1)

    assert star.method.model["bias"].tolist() == [4, 4, 4, 4]


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        (Package({"samples": 10}, {"bias": np.zeros(4, np.float32)}), "missing-tensor"),
        (Package({"samples": 10}, model(1) | {"bias": np.zeros(9, np.float32)}), "shape"),
        (Package({"samples": 10}, model(float("nan"))), "not-finite"),
        (Package({}, model(1)), "malformed"),
        (Package({"samples": -1}, model(1)), "claim"),
        (Package({"samples": 11}, model(1)), "claim"),
    ],
    ids=["missing", "shape", "nan", "no samples", "negative samples", "more samples than it has"],
)
def test_a_bad_update_is_refused_and_its_sender_told(
    build: Build, package: Package, reason: str
) -> None:
    star = build(1, round="0.5s")
    star.join("client1")
    parent = star.parents["client1"]

    def bad_client() -> None:
        assert parent.next_model() is not None
        parent.send_update(1, package)
        parent.next_model()

    told = aside(bad_client)

    with pytest.raises(RoundFailed, match="no update from client1"):
        star.server.run(1, 1)
    with pytest.raises(UpdateRefused, match=f"cloud refused an update of this node: {reason}"):
        told.result(PATIENCE)
    [event] = star.listener.events("refused")
    assert event["reason"] == reason
