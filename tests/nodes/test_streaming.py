"""A server without rounds takes updates one by one: over real sockets."""

import dataclasses
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from contracts.control import Left
from nodes.control import Control
from nodes.serving.late_updates import RoundFailed
from nodes.streaming import StreamingServer
from protocols import fedasync, fedbuff
from protocols.base import Package
from protocols.wire import Message
from tests.support.lines import PATIENCE, aside, soon
from tests.support.stars import Star, model

NAMES = ("client1", "client2", "client3")


class Streaming(Star):
    """A star whose cloud has no rounds; the test says which client does what, and when."""

    def __init__(self, method: Any, control: Control | None = None, **limits: Any) -> None:
        super().__init__(len(NAMES), **limits)
        self.server.endpoint.close()
        self.stream = method
        spec, recorder = self.plan.node("cloud"), self.listener.recorder
        self.server = StreamingServer(spec, self.plan, method, recorder, self.port, control=control)
        self.join(*NAMES)

    def take(self, name: str) -> Message:
        message = self.parents[name].next_model()
        assert message is not None
        return message

    def send(self, name: str, to: Message, value: float) -> None:
        self.parents[name].send_update(to.local_round, Package({"samples": 10}, model(value)))

    def weights(self) -> list[float]:
        values: list[float] = self.stream.model["bias"].tolist()
        return values


def _run(star: Streaming, rounds: int) -> None:
    for round in range(1, rounds + 1):
        star.server.run(round, round)


@contextmanager
def streaming(method: Any, **more: Any) -> Iterator[Streaming]:
    star = Streaming(method, **more)
    yield star
    star.close()


def asynchronous(**given: Any) -> fedasync.Server:
    settings = fedasync.Settings(rounds=9, alpha=0.5, function="constant", **given)
    return fedasync.Server(settings, model(0))


def buffered(**given: Any) -> fedbuff.Server:
    return fedbuff.Server(fedbuff.Settings(rounds=9, **given), model(0))


def test_each_update_is_an_aggregation_and_its_sender_goes_on_with_the_new_model() -> None:
    with streaming(asynchronous()) as star:
        first = aside(lambda: star.server.run(1, 1))
        sent = {name: star.take(name) for name in NAMES}
        star.send("client2", sent["client2"], 8)
        first.result(PATIENCE)
        assert star.weights() == [4] * 4

        second = aside(lambda: star.server.run(2, 2))
        again = star.take("client2")
        assert again.local_round == 2 and again.tensors["bias"].tolist() == [4] * 4
        star.send("client1", sent["client1"], 0)
        second.result(PATIENCE)

        assert star.weights() == [2] * 4
        uploads = star.listener.events("upload")
        assert [(e["node"], e["round"], e["local_round"], e["answers"]) for e in uploads] == [
            ("client2", 1, 1, 1),
            ("client1", 2, 2, 1),
        ]


def test_staleness_is_how_many_models_the_server_made_meanwhile() -> None:
    with streaming(asynchronous()) as star:
        running = aside(lambda: _run(star, rounds=3))
        sent = {name: star.take(name) for name in NAMES}
        star.send("client1", sent["client1"], 1)
        star.send("client1", star.take("client1"), 1)
        star.take("client1")  # its second update has been taken
        star.send("client3", sent["client3"], 1)
        running.result(PATIENCE)

        staleness = [event["staleness"] for event in star.listener.events("aggregate")]  # type: ignore[typeddict-item]
        assert staleness == [{"client1": 0}, {"client1": 0}, {"client3": 2}]


def test_a_buffer_waits_for_k_updates_and_sends_nobody_the_same_model_twice() -> None:
    with streaming(buffered(buffer=2)) as star:
        running = aside(lambda: star.server.run(1, 1))
        sent = {name: star.take(name) for name in NAMES}
        star.send("client1", sent["client1"], 2)
        assert (
            star.parents["client1"].endpoint.receive(0, star.parents["client1"]._expected) is None
        )
        assert not running.done()
        star.send("client3", sent["client3"], 4)
        running.result(PATIENCE)

        assert star.weights() == [3] * 4


def test_a_buffer_that_nobody_is_left_to_fill_is_taken_as_it_is() -> None:
    with streaming(buffered(buffer=5)) as star:
        running = aside(lambda: star.server.run(1, 1))
        for name in NAMES:
            star.send(name, star.take(name), 6)
        running.result(PATIENCE)

        assert star.weights() == [6] * 4


def test_no_more_clients_hold_a_model_than_concurrency_allows() -> None:
    with streaming(buffered(buffer=3, concurrency=1)) as star:
        running = aside(lambda: star.server.run(1, 1))
        order = []
        for _ in NAMES:
            [name] = [n for n in NAMES if n not in order and _has_message(star, n)]
            order.append(name)
            star.send(name, star.take(name), 3)
        running.result(PATIENCE)

        assert sorted(order) == list(NAMES) and star.weights() == [3] * 4


def _has_message(star: Streaming, name: str, seconds: float = 0.2) -> bool:
    endpoint, deadline = star.parents[name].endpoint, soon(seconds)
    while not endpoint.has_message() and soon(0) < deadline:
        endpoint._readable.poll(50)
    return endpoint.has_message()


def test_at_the_deadline_a_quorum_of_k_is_enough() -> None:
    limits = {"round": "300ms", "late": "quorum", "quorum": 0.5}
    with streaming(buffered(buffer=2), **limits) as star:
        running = aside(lambda: star.server.run(1, 1))
        star.send("client1", star.take("client1"), 7)
        running.result(PATIENCE)

        assert star.weights() == [7] * 4
        assert star.listener.events("deadline")[0]["missing"] == ["client2", "client3"]


def test_without_any_update_the_run_ends_at_the_deadline() -> None:
    with streaming(asynchronous(), round="200ms") as star, pytest.raises(RoundFailed):
        star.server.run(1, 1)


def test_an_update_that_is_not_awaited_is_refused_and_its_sender_told() -> None:
    with streaming(asynchronous()) as star:
        running = aside(lambda: star.server.run(1, 1))
        sent = {name: star.take(name) for name in NAMES}
        wrong = dataclasses.replace(sent["client1"], local_round=77)
        star.send("client1", wrong, 5)
        assert _has_message(star, "client1", PATIENCE)
        star.send("client2", sent["client2"], 8)
        running.result(PATIENCE)

        assert star.weights() == [4] * 4
        assert dict(star.server.endpoint.refused) == {"round": 1}


def test_who_leaves_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    launcher = Control(theirs)
    with streaming(buffered(buffer=3), control=Control(ours)) as star:
        running = aside(lambda: star.server.run(1, 1))
        for name in NAMES[:2]:
            star.send(name, star.take(name), 4)
        star.take("client3")
        launcher.say(Left("client3", since=1))
        running.result(PATIENCE)

        assert star.weights() == [4] * 4
        assert [event["node"] for event in star.listener.events("abandoned")] == ["client3"]


def test_updates_that_come_between_aggregations_are_kept() -> None:
    with streaming(asynchronous()) as star:
        running = aside(lambda: star.server.run(1, 1))
        sent = {name: star.take(name) for name in NAMES}
        star.send("client1", sent["client1"], 8)
        running.result(PATIENCE)
        star.send("client2", sent["client2"], 0)
        deadline = soon()
        while not star.server.endpoint.has_message() and soon(0) < deadline:
            star.server.endpoint._readable.poll(50)

        star.server.handle_joins_and_departures()
        star.server.run(2, 2)

        assert star.weights() == [2] * 4
