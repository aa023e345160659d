"""Who gets in at a server whose run has keys, and as whom: over real sockets."""

import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import zmq

from contracts.control import Keys
from nodes.joining import NotJoined, admit, join
from nodes.launch.run_keys import RunKeys
from nodes.transport import ClientEndpoint, Endpoint, ServerEndpoint
from protocols.wire import Expected, Message, Refused, encode
from tests.support.lines import PATIENCE, aside, free_port, soon
from tests.support.scenario_trees import planned, star_scenario

MAX_BYTES = 10_000_000
ANYTHING = Expected(max_bytes=MAX_BYTES)


class Run:
    """A server with its keys, and whoever comes; remembers what the server refused."""

    def __init__(self) -> None:
        self.keys = RunKeys(planned(star_scenario(clients=3)), bytearray(b"s" * 32))
        self.port = free_port()
        self.refusals: list[tuple[str, str]] = []
        self._open: list[Endpoint | zmq.Socket[bytes]] = []
        self._context = zmq.Context()
        self.server = self.serve(self.keys.of("cloud"))

    def _note(self, sender: str, refusal: Refused) -> None:
        self.refusals.append((sender, refusal.reason))

    def serve(self, keys: Keys, port: int | None = None) -> ServerEndpoint:
        made = ServerEndpoint("cloud", MAX_BYTES, self._note, port or self.port, keys)
        self._open.append(made)
        return made

    def client(self, name: str, keys: Keys | None, port: int | None = None) -> ClientEndpoint:
        made = ClientEndpoint(
            name, "cloud", "127.0.0.1", MAX_BYTES, self._note, port or self.port, keys
        )
        self._open.append(made)
        return made

    def joined(self, name: str, port: int | None = None) -> ClientEndpoint:
        client = self.client(name, self.keys.of(name), port)
        joining = aside(partial(join, client, soon()))
        admit(self.server, (name,), soon())
        joining.result(PATIENCE)
        return client

    def raw(self, identity: bytes, keys: Keys) -> "zmq.Socket[bytes]":
        """Connect with these keys under any address at the server's socket."""
        made = self._context.socket(zmq.DEALER)
        self._open.append(made)
        if identity:
            made.setsockopt(zmq.IDENTITY, identity)
        made.setsockopt(zmq.RCVTIMEO, int(PATIENCE * 1000))
        made.curve_serverkey = keys.servers["cloud"].encode()
        made.curve_publickey, made.curve_secretkey = keys.public.encode(), keys.secret.encode()
        made.connect(f"tcp://127.0.0.1:{self.port}")
        return made

    def close(self) -> None:
        for end in self._open:
            if isinstance(end, Endpoint):
                end.close(abandon=True)
            else:
                end.close(linger=0)
        self._context.term()


@pytest.fixture
def run() -> Iterator[Run]:
    made = Run()
    yield made
    made.close()


def update(sender: str, **meta: Any) -> Message:
    return Message("update", sender, 1, meta, {"w": np.arange(100_000, dtype=np.float32)})


def comes_to_nothing(run: Run, client: ClientEndpoint) -> None:
    """Whoever this is tries to join, while the server waits for it."""
    joining = aside(lambda: join(client, soon(0.5)))
    with pytest.raises(NotJoined):
        admit(run.server, (client.name,), soon(0.3))
    with pytest.raises(NotJoined, match="no welcome"):
        joining.result(PATIENCE)


# With keys of the run


def test_children_join_with_their_keys_and_messages_pass_both_ways(run: Run) -> None:
    clients = [run.joined(name) for name in ("client1", "client2", "client3")]

    for client in clients:
        run.server.send(client.name, Message("model", "cloud", 1, {}, update("").tensors))
        down = client.receive(soon(), ANYTHING)
        client.send(update(client.name))
        up = run.server.receive(soon(), ANYTHING)

        assert down is not None and up is not None
        assert (down.sender, up.sender) == ("cloud", client.name)
        np.testing.assert_array_equal(up.tensors["w"], down.tensors["w"])
    assert not run.refusals


def test_a_node_that_is_started_again_comes_back_with_the_same_key(run: Run) -> None:
    before = run.joined("client1")
    after = run.joined("client1")

    run.server.send("client1", Message("model", "cloud", 2))

    received = after.receive(soon(), ANYTHING)
    assert received is not None and received.local_round == 2
    assert before.receive(soon(0.1), ANYTHING) is None
    assert not run.refusals


def test_a_child_of_another_server_cannot_be_sent_to(run: Run) -> None:
    with pytest.raises(zmq.ZMQError, match=r"Host unreachable|No route"):
        run.server.send("client77", Message("stop", "cloud", 0))


# Without a key


def test_without_a_key_nobody_joins_and_the_attempt_is_counted(run: Run) -> None:
    comes_to_nothing(run, run.client("client1", None))

    assert ("stranger", "stranger") in run.refusals
    assert run.server.refused.keys() == {"stranger"}


def test_a_key_that_the_run_does_not_know_is_turned_away_and_its_address_noted(run: Run) -> None:
    public, secret = (key.decode() for key in zmq.curve_keypair())
    made_up = Keys(public, secret, servers=run.keys.of("client1").servers, children={})

    comes_to_nothing(run, run.client("client1", made_up))

    assert ("stranger 127.0.0.1", "stranger") in run.refusals


def test_whoever_takes_another_for_the_server_is_turned_away(run: Run) -> None:
    keys = run.keys.of("client1")
    wrong = Keys(keys.public, keys.secret, servers={"cloud": keys.public}, children={})

    comes_to_nothing(run, run.client("client1", wrong))

    assert ("stranger", "stranger") in run.refusals


@pytest.mark.parametrize(
    "greeting",
    [
        b"\x08\x00client1\x01\x00",  # ZMTP 1.0: a name, and the first frame
        b"\xff" + bytes(8) + b"\x7f\x01\x05\x00\x07client1",  # 2.0
        b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48) + b"\x04\x05\x05READY",  # 3.0
        b"GET / HTTP/1.0\r\n\r\n",
        b"\x00" * 200,
    ],
    ids=["ZMTP 1.0", "ZMTP 2.0", "no mechanism", "HTTP", "zeros"],
)
def test_an_older_greeting_is_no_way_around_the_keys(run: Run, greeting: bytes) -> None:
    joined = run.joined("client1")
    with socket.create_connection(("127.0.0.1", run.port)) as connection:
        connection.sendall(greeting + encode(update("client1", sent_at=1.0))[0])
        assert run.server.receive(soon(0.3), ANYTHING) is None

    joined.send(update("client1"))
    assert run.server.receive(soon(), ANYTHING) is not None
    assert {reason for _, reason in run.refusals} <= {"stranger"}


def test_many_strangers_neither_stop_the_server_nor_fill_its_records(run: Run) -> None:
    client = run.joined("client1")
    for _ in range(1500):  # more than ZeroMQ would keep for us
        with socket.create_connection(("127.0.0.1", run.port)) as connection:
            connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48))
            connection.settimeout(PATIENCE)
            while connection.recv(1000):  # until it is closed
                pass

    client.send(update("client1"))
    received = run.server.receive(soon(), ANYTHING)

    assert received is not None and received.sender == "client1"
    assert run.refusals == [("stranger", "stranger")]


def test_nobody_else_can_be_the_server(run: Run) -> None:
    port = free_port()
    run.serve(run.keys.of("client2"), port)
    client = run.client("client1", run.keys.of("client1"), port)

    with pytest.raises(NotJoined, match="no welcome"):
        join(client, soon(0.3))


# With somebody else's key


def test_client1_cannot_sign_as_client2(run: Run) -> None:
    client2 = run.joined("client2")
    impostor = run.joined("client1")
    impostor.send(update("client2"))
    answering = aside(lambda: run.server.receive(soon(), ANYTHING))

    notice = impostor.receive(soon(), ANYTHING)
    client2.send(update("client2"))

    assert notice is not None and notice.meta["reason"] == "identity"
    received = answering.result(PATIENCE)
    assert received is not None and received.sender == "client2"
    assert run.refusals == [("client1", "identity")]


@pytest.mark.parametrize("address", [b"client2", b"", None], ids=["name", "none", "public key"])
def test_client1_cannot_take_the_place_of_client2(run: Run, address: bytes | None) -> None:
    """Not even if it knows client2's public key, as other servers do."""
    public = run.keys.of("client2").public.encode()
    impostor = run.raw(public if address is None else address, run.keys.of("client1"))
    for sender in ("client2", "client1"):
        impostor.send_multipart(encode(update(sender, sent_at=1.0)))

    assert run.server.receive(soon(0.5), ANYTHING) is None
    assert run.refusals == [("client1", "identity")] * 2
    assert impostor.recv_multipart(), "it is told"


# On the network


class Relay:
    """Passes bytes on to a server and keeps them, as somebody who listens on the way."""

    def __init__(self, port: int) -> None:
        self.heard = bytearray()
        self.port = free_port()
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._server = port
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            below, _ = self._listening.accept()
            above = socket.create_connection(("127.0.0.1", self._server))
            for source, goal in ((below, above), (above, below)):
                threading.Thread(target=self._pass, args=(source, goal), daemon=True).start()

    def _pass(self, source: socket.socket, goal: socket.socket) -> None:
        while data := source.recv(1 << 16):
            self.heard += data
            goal.sendall(data)

    def quiet(self) -> int:
        """Wait until nothing passes any more; return how many bytes have."""
        before = -1
        while before != len(self.heard):
            before = len(self.heard)
            time.sleep(0.1)
        return before


def test_neither_keys_nor_names_nor_models_can_be_heard_on_the_way(run: Run) -> None:
    relay = Relay(run.port)
    client = run.joined("client1", relay.port)
    message = update("client1", samples=10)
    client.send(message)
    assert run.server.receive(soon(), ANYTHING) is not None

    assert relay.quiet() > 400_000
    keys = [run.keys.of(name) for name in ("client1", "cloud")]
    for text in ("client1", "samples", *(k.public for k in keys), *(k.secret for k in keys)):
        assert text.encode() not in relay.heard
        assert not (len(text) == 40 and zmq.utils.z85.decode(text) in relay.heard)
    assert message.tensors["w"].tobytes()[1000:1064] not in relay.heard


def test_an_encrypted_frame_is_33_bytes_longer(run: Run) -> None:
    plain_port = free_port()
    plain = ServerEndpoint("cloud", MAX_BYTES, run._note, plain_port)
    run._open.append(plain)
    sizes = []
    for server, port, keys in (
        (plain, plain_port, None),
        (run.server, run.port, run.keys.of("client1")),
    ):
        relay = Relay(port)
        client = run.client("client1", keys, relay.port)
        joining = aside(partial(join, client, soon()))
        admit(server, ("client1",), soon())
        joining.result(PATIENCE)
        before = relay.quiet()
        client.send(Message("update", "client1", 1, {"filler": "x" * 300}, update("").tensors))
        assert server.receive(soon(), ANYTHING) is not None
        sizes.append(relay.quiet() - before)

    assert sizes[1] - sizes[0] == 2 * 33, "the header and one tensor"
