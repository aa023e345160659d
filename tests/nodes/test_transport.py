"""Endpoints over real ZeroMQ on this machine."""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import zmq

from nodes.joining import NotJoined, admit, join
from nodes.transport import ClientEndpoint, Endpoint, ServerEndpoint
from protocols.wire import Expected, Message, Refused, decode, encode
from tests.support.lines import PATIENCE, aside, free_port, soon

MAX_BYTES = 10_000_000
ANYTHING = Expected(max_bytes=MAX_BYTES)
UPDATE = Expected(kinds=frozenset({"update"}), max_bytes=MAX_BYTES)
NOTICE = Expected(kinds=frozenset({"refused"}), max_bytes=MAX_BYTES)


class Ends:
    """A server, and whoever connects to it; remembers what the server refused."""

    def __init__(self) -> None:
        self.port = free_port()
        self.refusals: list[tuple[str, Refused]] = []
        self._open: list[Endpoint | zmq.Socket[bytes]] = []
        self._context = zmq.Context()
        self.server = ServerEndpoint("cloud", MAX_BYTES, self._note, self.port)
        self._open.append(self.server)

    def _note(self, sender: str, refusal: Refused) -> None:
        self.refusals.append((sender, refusal))

    def client(self, name: str, on_refusal: Callable[..., None] | None = None) -> ClientEndpoint:
        note = on_refusal or self._note
        made = ClientEndpoint(name, "cloud", "127.0.0.1", MAX_BYTES, note, self.port)
        self._open.append(made)
        return made

    def joined(self, name: str) -> ClientEndpoint:
        client = self.client(name)
        joining = aside(lambda: join(client, soon()))
        admit(self.server, (name,), soon())
        joining.result(PATIENCE)
        return client

    def raw(self, identity: bytes = b"") -> "zmq.Socket[bytes]":
        """A peer that speaks ZeroMQ and nothing else of ours."""
        made = self._context.socket(zmq.DEALER)
        if identity:
            made.setsockopt(zmq.IDENTITY, identity)
        made.setsockopt(zmq.RCVTIMEO, int(PATIENCE * 1000))
        made.connect(f"tcp://127.0.0.1:{self.port}")
        self._open.append(made)
        return made

    def close(self) -> None:
        for end in self._open:
            if isinstance(end, Endpoint):
                end._socket.setsockopt(zmq.LINGER, 0)
                end.close()
            else:
                end.close(linger=0)
        self._context.term()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def tensors(elements: int = 100_000) -> dict[str, np.ndarray]:
    return {"w": np.arange(elements, dtype=np.float32), "b": np.zeros(3, np.float32)}


def update(sender: str, local_round: int = 1, **meta: Any) -> Message:
    return Message("update", sender, local_round, meta, tensors())


# Joining


def test_every_child_joins_and_is_welcomed_whatever_the_order(ends: Ends) -> None:
    names = ("client1", "client2", "client3")
    clients = [ends.client(name) for name in reversed(names)]

    joining = [aside(partial(join, client, soon())) for client in clients]
    admit(ends.server, names, soon())

    for future in joining:
        assert future.result(PATIENCE) is None
    assert not ends.refusals


def test_a_client_may_come_before_its_server(ends: Ends) -> None:
    port = free_port()
    early = ClientEndpoint("early", "late", "127.0.0.1", MAX_BYTES, ends._note, port)
    joining = aside(lambda: join(early, soon()))
    time.sleep(0.05)

    late = ServerEndpoint("late", MAX_BYTES, ends._note, port)
    admit(late, ("early",), soon())

    assert joining.result(PATIENCE) is None
    early.close()
    late.close()


def test_who_did_not_join_by_the_deadline_is_named(ends: Ends) -> None:
    client = ends.client("client1")
    joining = aside(lambda: join(client, soon()))

    with pytest.raises(NotJoined, match=r"1 of 2 did not join in time: client2; raise limits.join"):
        admit(ends.server, ("client1", "client2"), soon(0.3))

    joining.result(PATIENCE)


def test_a_client_without_a_welcome_names_its_parent(ends: Ends) -> None:
    with pytest.raises(NotJoined, match=r"no welcome from cloud in time; raise limits.join"):
        join(ends.client("client1"), soon(0.1))


# Sending and receiving


def test_messages_arrive_as_they_were_sent_in_both_directions(ends: Ends) -> None:
    client = ends.joined("client1")

    ends.server.send("client1", Message("model", "cloud", 4, {"epochs": 2}, tensors()))
    down = client.receive(soon(), ANYTHING)
    client.send(Message("update", "client1", 4, {"samples": 60}, tensors()))
    up = ends.server.receive(soon(), UPDATE)

    assert down is not None and up is not None
    assert (down.kind, down.sender, down.local_round, down.meta["epochs"]) == (
        "model",
        "cloud",
        4,
        2,
    )
    assert (up.kind, up.sender, up.meta["samples"]) == ("update", "client1", 60)
    for message in (down, up):
        np.testing.assert_array_equal(message.tensors["w"], tensors()["w"])
        assert message.meta["sent_at"] <= time.monotonic()


def test_what_is_received_shares_memory_with_the_frame_it_came_in(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ends.joined("client1")
    seen: list[zmq.Frame] = []
    frames_of = ServerEndpoint._frames

    def remembering(endpoint: ServerEndpoint, deadline: float) -> list[zmq.Frame] | None:
        frames = frames_of(endpoint, deadline)
        seen.extend(frames or [])
        return frames

    monkeypatch.setattr(ServerEndpoint, "_frames", remembering)
    client.send(update("client1"))

    message = ends.server.receive(soon(), UPDATE)

    assert message is not None
    assert np.shares_memory(message.tensors["w"], np.frombuffer(seen[2].buffer, np.uint8))


def test_what_is_sent_is_the_tensors_own_memory(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ends.joined("client1")
    message = update("client1")
    sent: list[Any] = []
    monkeypatch.setattr(
        zmq.Socket, "send_multipart", lambda _, frames, copy: sent.extend([*frames, copy])
    )

    client.send(message)

    *frames, copied = sent
    assert copied is False
    assert np.shares_memory(message.tensors["w"], np.frombuffer(frames[1], np.uint8))


def test_a_child_that_is_not_there_cannot_be_sent_to(ends: Ends) -> None:
    with pytest.raises(zmq.ZMQError, match=r"Host unreachable|No route"):
        ends.server.send("nobody", Message("stop", "cloud", 0))


# Deadlines


@pytest.mark.parametrize("seconds", [0.0, 0.0004, 0.2])
def test_without_a_message_receiving_ends_at_the_deadline(ends: Ends, seconds: float) -> None:
    client = ends.joined("client1")

    for end in (ends.server, client):
        before = time.monotonic()
        assert end.receive(before + seconds, ANYTHING) is None
        assert seconds <= time.monotonic() - before < seconds + 0.5


def test_a_deadline_further_away_than_poll_can_count_is_fine(ends: Ends) -> None:
    client = ends.joined("client1")
    client.send(update("client1"))

    assert ends.server.receive(soon(1e9), UPDATE) is not None


def test_what_has_arrived_is_received_even_at_the_deadline(ends: Ends) -> None:
    client = ends.joined("client1")
    client.send(update("client1", 1))
    client.send(update("client1", 2))
    assert ends.server.receive(soon(), UPDATE) is not None
    time.sleep(0.05)

    assert ends.server.receive(soon(0), UPDATE) is not None


def test_a_flood_of_nonsense_does_not_keep_a_receiver_beyond_its_deadline(ends: Ends) -> None:
    stranger = ends.raw(b"noisy")
    for _ in range(20_000):
        stranger.send(b"nonsense")

    receiving = aside(lambda: ends.server.receive(soon(0.1), UPDATE))
    end = soon()
    while not receiving.done() and time.monotonic() < end:  # there is always more to refuse
        with contextlib.suppress(zmq.Again):
            stranger.send(b"nonsense", zmq.DONTWAIT)

    assert receiving.done(), "the flood kept it"
    assert receiving.result() is None


# Refusals


def refused_notice(raw: "zmq.Socket[bytes]") -> Message:
    return decode(raw.recv_multipart(), NOTICE)


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([b"\xc1 no msgpack"], "malformed"),
        ([b""], "truncated"),
        ([b"\x00" * 100, b"more"], "malformed"),
        (encode(update("client1"))[:-1], "truncated"),
        (encode(Message("riddle", "client1", 1)), "kind"),
        (encode(Message("update", "client2", 1, {"sent_at": 1.0})), "identity"),
        (encode(Message("update", "client1", 1, {})), "malformed"),
    ],
    ids=["noise", "empty", "zeros", "short", "unknown kind", "signed by another", "undated"],
)
def test_the_malformed_is_refused_by_name_counted_told_and_survived(
    ends: Ends, frames: list[bytes], reason: str
) -> None:
    raw = ends.raw(b"client1")
    good = encode(Message("update", "client1", 1, {"sent_at": 1.0}))

    raw.send_multipart(frames)
    raw.send_multipart(good)
    received = ends.server.receive(soon(), UPDATE)

    assert received is not None and received.sender == "client1"
    assert [(name, refusal.reason) for name, refusal in ends.refusals] == [("client1", reason)]
    assert ends.server.refused == {reason: 1}
    notice = refused_notice(raw)
    assert (notice.sender, notice.meta["reason"]) == ("cloud", reason)


def test_a_peer_without_a_name_is_refused_by_its_bytes_and_told(ends: Ends) -> None:
    raw = ends.raw()
    raw.send(b"hello?")

    assert ends.server.receive(soon(0.3), UPDATE) is None

    [(name, refusal)] = ends.refusals
    assert name.startswith("stranger 00")
    assert refusal.reason == "malformed"
    assert refused_notice(raw).meta["reason"] == "malformed"


def test_what_is_too_large_in_all_is_refused(ends: Ends) -> None:
    client = ends.joined("client1")
    client.send(update("client1"))

    assert ends.server.receive(soon(0.3), Expected(max_bytes=1000)) is None
    assert ends.server.refused == {"oversize": 1}


def test_a_refused_sender_that_has_left_troubles_nobody(ends: Ends) -> None:
    raw = ends.raw(b"client1")
    raw.send(b"nonsense")
    ends.server._frames(soon())  # it has arrived, and so has a second one when that one left
    raw.send(b"nonsense")
    raw.close(linger=1000)
    time.sleep(0.1)

    assert ends.server.receive(soon(0.2), UPDATE) is None
    assert ends.server.refused == {"malformed": 1}


def test_a_client_refuses_what_its_parent_did_not_sign_and_waits_on(ends: Ends) -> None:
    refused: list[tuple[str, str]] = []
    client = ends.client("client1", lambda who, why: refused.append((who, why.reason)))
    joining = aside(lambda: join(client, soon()))
    admit(ends.server, ("client1",), soon())
    joining.result(PATIENCE)

    ends.server.send("client1", Message("model", "somebody else", 1))
    ends.server.send("client1", Message("model", "cloud", 2))
    received = client.receive(soon(), ANYTHING)

    assert received is not None and received.local_round == 2
    assert refused == [("cloud", "identity")]
    assert client.refused == {"identity": 1}


def test_a_child_can_be_told_that_what_it_meant_was_not_accepted(ends: Ends) -> None:
    client = ends.joined("client1")

    ends.server.refuse("client1", Refused("malformed", "no sample count"))

    notice = client.receive(soon(), NOTICE)
    assert notice is not None and notice.meta["reason"] == "malformed"
    assert ends.server.refused == {"malformed": 1}
