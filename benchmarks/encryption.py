"""Measures what keys and encryption cost the host's processor, a message and a connection.

Run from the root of the repository: python -m benchmarks.encryption
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import zmq

from contracts.control import Keys
from contracts.messages import Kind
from nodes.joining import ask_to_join, welcome
from nodes.recorder import now
from nodes.transport import ClientEndpoint, ServerEndpoint
from protocols.wire import Expected, Message

# Name, tensors and bytes of each: LeNet-5 has ten tensors in 247 kB, ResNet-18 62 in 45 MB.
MODELS = (("lenet5", 10, 24_700), ("resnet18", 62, 722_000), ("one tensor", 1, 45_000_000))
CONNECTIONS = 50
MESSAGES = 20
_PATIENCE = 60.0
_MOST = 1 << 30
_PORT = 5998
_ANYTHING = Expected(max_bytes=_MOST)


def _ignore(*_refusal: object) -> None:
    pass


class Pair:
    """A server and its child in this process, connected over the loopback interface."""

    def __init__(self, keys: Keys | None) -> None:
        self.server = ServerEndpoint("server", _MOST, _ignore, _PORT, keys)
        self.client = ClientEndpoint("client", "server", "127.0.0.1", _MOST, _ignore, _PORT, keys)
        ask_to_join(self.client)
        self.server.receive(now() + _PATIENCE, _ANYTHING)
        welcome(self.server, "client")
        self.client.receive(now() + _PATIENCE, _ANYTHING)

    def pass_on(self, message: Message) -> None:
        """Send a message up and wait until it has been received and checked."""
        self.client.send(message)
        assert self.server.receive(now() + _PATIENCE, _ANYTHING) is not None

    def close(self) -> None:
        """Close both ends."""
        self.client.close(abandon=True)
        self.server.close(abandon=True)


def connect(keys: Keys | None) -> None:
    """Connect once, and end the connection."""
    Pair(keys).close()


def processor_seconds(action: Callable[[], None]) -> float:
    """Return what all threads of this process used."""
    before = time.process_time()
    action()
    return time.process_time() - before


def main() -> None:
    """Print a table of processor time without and with encryption."""
    public, secret = (key.decode() for key in zmq.curve_keypair())
    keys = Keys(public, secret, servers={"server": public}, children={"client": public})
    found: dict[tuple[str, bool], float] = {}
    for encrypted in (False, True):
        own = keys if encrypted else None
        made = [processor_seconds(partial(connect, own)) for _ in range(CONNECTIONS)]
        found["a connection", encrypted] = statistics.median(made)
        pair = Pair(own)
        for name, count, size in MODELS:
            tensors = {f"layer{number}": np.ones(size // 4, np.float32) for number in range(count)}
            message = Message(Kind.UPDATE, "client", 1, {}, tensors)
            passed = [processor_seconds(partial(pair.pass_on, message)) for _ in range(MESSAGES)]
            found[name, encrypted] = statistics.median(passed)
        pair.close()
    print(f"processor milliseconds, both ends, medians of {MESSAGES} messages")
    for name in ("a connection", *(name for name, _, _ in MODELS)):
        without, encrypted_seconds = found[name, False] * 1e3, found[name, True] * 1e3
        ratio = encrypted_seconds / without
        print(f"{name:14} {without:8.3f} {encrypted_seconds:8.3f}  {ratio:.2f} times")


if __name__ == "__main__":
    main()
