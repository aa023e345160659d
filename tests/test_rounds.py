"""Rounds at a server over real sockets: quorum, deadlines, and updates that must not count."""

import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import zmq

from nodes.control import Control
from nodes.parent import Parent, ParentLost, UpdateRefused
from nodes.phases import Recorder
from nodes.rounds import RoundFailed, RoundServer, quorum
from nodes.transport import NotJoined
from protocols import fedavg
from protocols.base import Package
from protocols.wire import Message
from scenarios.plan import Plan
from tests.lines import PATIENCE, aside, free_port
from tests.scenario_trees import TENSORS, planned, star_scenario


def model(value: float) -> dict[str, np.ndarray]:
    return {name: np.full(shape, value, dtype) for name, (dtype, shape) in TENSORS.items()}


class Listener:
    """A recorder whose events can be looked at."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.recorder = Recorder(Control(ours))
        self._control = Control(theirs)

    def events(self, phase: str) -> list[dict[str, Any]]:
        self.recorder.note("test", "end", 0)  # so that there is something to hand over
        self.recorder.flush()
        events = [event for message in self._control.read() for event in message["events"]]
        return [event for event in events if event["phase"] == phase]


class Star:
    """A cloud and its clients' ends, all in this process."""

    def __init__(self, clients: int, **limits: Any) -> None:
        limits = {"join": "5s", "round": "5s", **limits}
        plan = planned(star_scenario(clients=clients, limits=limits))
        local = [dataclasses.replace(node, parent_address="127.0.0.1") for node in plan.nodes]
        self.plan: Plan = dataclasses.replace(plan, nodes=tuple(local))
        self.port = free_port()
        self.listener = Listener()
        self.method = fedavg.Server(fedavg.Settings(rounds=1), model(0))
        cloud = self.plan.node("cloud")
        self.server = RoundServer(cloud, self.plan, self.method, self.listener.recorder, self.port)
        self.parents: dict[str, Parent] = {}

    def join(self, *names: str) -> None:
        for name in names:
            listener = Listener()
            spec = self.plan.node(name)
            self.parents[name] = Parent(spec, self.plan, listener.recorder, self.port)
        joining = [aside(parent.join) for parent in self.parents.values()]
        self.server.admit()
        for future in joining:
            future.result(PATIENCE)

    def answer(self, name: str, value: float, samples: Any = 10) -> Message:
        """A client that takes the next model and answers at once."""
        message = self.parents[name].next_model()
        assert message is not None
        self.parents[name].send_update(message.round, Package({"samples": samples}, model(value)))
        return message

    def close(self) -> None:
        for endpoint in (self.server.endpoint, *(p.endpoint for p in self.parents.values())):
            if not endpoint._socket.closed:
                endpoint._socket.setsockopt(zmq.LINGER, 0)
                endpoint.close()


Build = Callable[..., Star]


@pytest.fixture
def build() -> Iterator[Build]:
    made: list[Star] = []

    def one(clients: int, **limits: Any) -> Star:
        made.append(Star(clients, **limits))
        return made[-1]

    yield one
    for star in made:
        star.close()


def test_a_round_combines_what_every_child_sends(build: Build) -> None:
    star = build(2)
    star.join("client1", "client2")

    answers = [
        aside(lambda: star.answer("client1", 1, samples=30)),
        aside(lambda: star.answer("client2", 5, samples=10)),
    ]
    star.server.run(1, 1)

    assert {future.result(PATIENCE).meta["iteration"] for future in answers} == {1}
    assert star.method.model["bias"].tolist() == [2, 2, 2, 2]
    assert star.method.samples == 40


def test_every_phase_of_a_round_is_on_the_record(build: Build) -> None:
    star = build(2)
    star.join("client1", "client2")

    for name in ("client1", "client2"):
        aside(partial(star.answer, name, 1))
    star.server.run(7, 3)

    star.listener.recorder.flush()
    events = [e for message in star.listener._control.read() for e in message["events"]]
    assert {(event["node"], event["phase"]) for event in events} == {
        ("client1", "upload"),
        ("client2", "upload"),
        ("client1", "wait"),
        ("client2", "wait"),
        ("cloud", "wait"),
        ("cloud", "aggregate"),
    }
    assert all((event["round"], event["number"]) == (3, 7) for event in events)
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
        star.parents["client1"].send_update(1, Package({"samples": 1}, model(1)))

    aside(client)
    star.server.run(1, 1, meanwhile=lambda: _expect(received))

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
        (Package({"samples": -1}, model(1)), "malformed"),
    ],
    ids=["missing", "shape", "nan", "no samples", "negative samples"],
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


# Deadlines


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


# The child's side


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
        late.send_update(first.round, Package({"samples": 10}, model(99)))
        late.send_update(second.round, Package({"samples": 10}, model(5)))
        assert late.next_model() is None
        return [first.round, second.round]

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
