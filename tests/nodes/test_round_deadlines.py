"""A server whose children are late or gone: abort, wait, or a quorum."""

import time
from collections.abc import Iterator
from functools import partial

import pytest
import zmq

from nodes.joining import NotJoined
from nodes.parent import Parent, ParentLost
from nodes.serving.late_updates import RoundFailed, quorum
from protocols.base import Package
from protocols.wire import Message
from tests.support.lines import PATIENCE, aside
from tests.support.stars import Build, Listener, Star, model, stars


@pytest.fixture
def build() -> Iterator[Build]:
    with stars() as build:
        yield build


def test_who_does_not_join_fails_the_server_by_name(build: Build) -> None:
    star = build(2, join="0.3s")
    spec = star.plan.node("client1")
    star.parents["client1"] = Parent(spec, star.plan, Listener().recorder, star.port)
    aside(star.parents["client1"].join)

    with pytest.raises(NotJoined, match="1 of 2 did not join in time: client2"):
        star.server.admit()


def test_abort_ends_the_round_at_its_deadline_naming_who_is_missing(build: Build) -> None:
    star = build(2, round="0.3s", late="abort")
    star.join("client1", "client2")
    aside(lambda: star.answer("client1", 1))

    before = time.monotonic()
    with pytest.raises(RoundFailed, match=r"no update from client2 within 0.3 s \(1 of 2, 2 want"):
        star.server.run(1, 1)

    assert 0.3 <= time.monotonic() - before < 1
    [event] = star.listener.events("deadline")
    assert event["missing"] == ["client2"]


def test_a_quorum_goes_on_at_the_deadline_without_the_rest(build: Build) -> None:
    star = build(3, round="0.3s", late="quorum", quorum=0.6)
    star.join("client1", "client2", "client3")
    for name, value in (("client1", 1), ("client3", 3)):
        aside(partial(star.answer, name, value))

    before = time.monotonic()
    star.server.run(1, 1)

    assert 0.3 <= time.monotonic() - before < 1
    assert star.method.model["bias"].tolist() == [2, 2, 2, 2]


def test_a_quorum_does_not_wait_when_all_have_come(build: Build) -> None:
    star = build(2, round="5s", late="quorum", quorum=0.5)
    star.join("client1", "client2")
    for name in ("client1", "client2"):
        aside(partial(star.answer, name, 1))

    before = time.monotonic()
    star.server.run(1, 1)

    assert time.monotonic() - before < 2


def test_less_than_a_quorum_fails(build: Build) -> None:
    star = build(3, round="0.3s", late="quorum", quorum=0.6)
    star.join("client1", "client2", "client3")
    aside(lambda: star.answer("client1", 1))

    with pytest.raises(RoundFailed, match=r"\(1 of 3, 2 wanted\)"):
        star.server.run(1, 1)


def test_a_quorum_goes_on_without_a_child_that_left(build: Build) -> None:
    star = build(2, round="5s", late="quorum", quorum=0.5)
    star.join("client1", "client2")
    star.parents["client1"].close()
    _until_unreachable(star, "client1")
    aside(lambda: star.answer("client2", 4))

    star.server.run(1, 1)

    assert star.method.model["bias"].tolist() == [4, 4, 4, 4]
    assert [event["node"] for event in star.listener.events("unreachable")] == ["client1"]


def test_children_that_left_do_not_make_the_quorum_smaller(build: Build) -> None:
    star = build(2, round="5s", late="quorum", quorum=1.0)
    star.join("client1", "client2")
    star.parents["client1"].close()
    _until_unreachable(star, "client1")
    aside(lambda: star.answer("client2", 4))

    with pytest.raises(RoundFailed, match="only 1 of 2, 2 wanted can be reached"):
        star.server.run(1, 1)


def test_without_a_quorum_a_child_that_left_fails_the_round(build: Build) -> None:
    star = build(1)
    star.join("client1")
    star.parents["client1"].close()
    _until_unreachable(star, "client1")

    with pytest.raises(RoundFailed, match="cannot reach client1"):
        star.server.run(1, 1)


@pytest.mark.parametrize(
    ("share", "children", "wanted"), [(0.07, 100, 7), (0.5, 3, 2), (0.01, 3, 1)]
)
def test_a_quorum_is_counted_in_whole_children(share: float, children: int, wanted: int) -> None:
    assert quorum(share, children) == wanted


def test_wait_goes_on_waiting_and_records_each_deadline(build: Build) -> None:
    star = build(1, round="0.2s", late="wait")
    star.join("client1")

    def slowly() -> None:
        message = star.parents["client1"].next_model()
        assert message is not None
        time.sleep(0.5)
        star.parents["client1"].send_update(1, Package({"samples": 10}, model(6)))

    aside(slowly)
    star.server.run(1, 1)

    assert star.method.model["bias"].tolist() == [6, 6, 6, 6]
    assert len(star.listener.events("deadline")) == 2


def test_a_late_update_is_noted_and_the_child_goes_on(build: Build) -> None:
    star = build(2, round="0.6s", late="quorum", quorum=0.5)
    star.join("client1", "client2")
    late = star.parents["client2"]

    def quick() -> None:
        star.answer("client1", 1)
        star.answer("client1", 3)

    def slow() -> list[int]:
        first = late.next_model()
        second = late.next_model()  # round 2 has begun: the update for round 1 is too late
        assert first is not None and second is not None
        late.send_update(first.local_round, Package({"samples": 10}, model(99)))
        late.send_update(second.local_round, Package({"samples": 10}, model(5)))
        assert late.next_model() is None
        return [first.local_round, second.local_round]

    aside(quick)
    rounds = aside(slow)
    star.server.run(1, 1)
    star.server.run(2, 2)
    star.server.stop()

    assert rounds.result(PATIENCE) == [1, 2]
    assert star.method.model["bias"].tolist() == [4, 4, 4, 4]


def test_stop_ends_every_child_also_when_one_left(build: Build) -> None:
    star = build(2)
    star.join("client1", "client2")
    star.parents["client1"].close()
    _until_unreachable(star, "client1")

    star.server.stop()

    assert star.parents["client2"].next_model() is None


# The child's side


def test_a_parent_that_is_silent_for_longer_than_a_round_is_lost(build: Build) -> None:
    star = build(1, join="0.1s", round="0.1s")
    spec = star.plan.node("client1")
    star.parents["client1"] = parent = Parent(spec, star.plan, Listener().recorder, star.port)

    before = time.monotonic()
    with pytest.raises(ParentLost, match="nothing came from cloud for longer than a round"):
        parent.next_model()

    assert 0.3 <= time.monotonic() - before < 1


def _until_unreachable(star: Star, name: str) -> None:
    """A closed connection is noticed within moments."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            star.server.endpoint.send(name, Message("refused", "cloud", 0))
        except zmq.ZMQError:
            return
        time.sleep(0.01)
    raise AssertionError(f"{name} is still reachable")
