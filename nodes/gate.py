"""The gate of a server: only who proves with a key of this run that it is a child gets in.

ZeroMQ's CURVE has both ends of a connection prove that they have their secret keys, and encrypts
what passes. The gate answers ZeroMQ's question whose key that is (ZAP, rfc.zeromq.org/spec/27), in
a thread of its own, because a server may be busy when somebody comes.
"""

import contextlib
import threading
from collections import deque
from typing import Any

import zmq
from zmq.utils import z85

from contracts.control import Keys

_QUESTIONS = "inproc://zeromq.zap.01"  # where ZeroMQ asks
_EVENTS = "inproc://turned-away"  # where it tells of those that had no key to ask about
_DOMAIN = b"metronome"
_LET_IN, _TURNED_AWAY = b"200", b"400"


class Gate:
    """Decides who may connect to a server's socket, and says afterwards who a message is from."""

    def __init__(
        self,
        context: "zmq.Context[zmq.Socket[bytes]]",
        server: "zmq.Socket[bytes]",
        keys: Keys,
        children_leave: bool,
    ) -> None:
        """Guard this socket, which is not bound yet.

        Where `children_leave` at any time, a connection that ends before anybody has proved
        anything was perhaps a child's, and does not count as a stranger's.
        """
        self._names = {key.encode(): name for name, key in keys.children.items()}
        self._routes = {name: route for route, name in self._names.items()}
        self._turned_away: deque[str] = deque()
        questions = context.socket(zmq.REP)
        questions.bind(_QUESTIONS)
        server.setsockopt(zmq.CURVE_SERVER, 1)
        server.setsockopt(zmq.CURVE_SECRETKEY, keys.secret.encode())
        server.setsockopt(zmq.ZAP_DOMAIN, _DOMAIN)
        server.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)  # nobody gets in when nobody answers
        # Whoever does not even speak CURVE, or does not know this server's key, is turned away
        # before we are asked, unless he leaves by himself on seeing that a key is wanted. Reading
        # about it may wait, however many they are.
        ends = 0 if children_leave else zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
        server.monitor(_EVENTS, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | ends)
        self._events = context.socket(zmq.PAIR)
        self._events.setsockopt(zmq.RCVHWM, 0)
        self._events.connect(_EVENTS)
        threading.Thread(target=self._answer, args=(questions,), daemon=True).start()

    def route_to(self, child: str) -> bytes:
        """Return the address of a child at the socket; ZMQError if it may not connect at all."""
        if child not in self._routes:
            raise zmq.ZMQError(zmq.EHOSTUNREACH)
        return self._routes[child]

    def name_at(self, route: bytes) -> str | None:
        """Return whose address at the socket this is; None if it is nobody's."""
        return self._names.get(route)

    @staticmethod
    def prover(frame: zmq.Frame) -> str:
        """Return who proved to be the sender of the message that this frame belongs to."""
        return str(frame.get("User-Id"))

    def turned_away(self) -> list[str]:
        """Return who was turned away since the last call, everyone once."""
        with contextlib.suppress(zmq.Again):
            while self._events.recv_multipart(zmq.DONTWAIT):
                self._turned_away.append("stranger")
        names = [self._turned_away.popleft() for _ in range(len(self._turned_away))]
        return list(dict.fromkeys(names))

    def close(self, server: "zmq.Socket[bytes]") -> None:
        """Stop hearing of strangers; the thread ends with the sockets' context."""
        server.disable_monitor()
        self._events.close(linger=0)

    def _answer(self, questions: Any) -> None:
        """Answer until the context ends."""
        with contextlib.suppress(zmq.ContextTerminated):
            while True:
                version, request, _domain, address, _socket, *proof = questions.recv_multipart()
                name = self._owner(*proof)
                if name is None:
                    self._turned_away.append(f"stranger {address.decode()}")
                    verdict = [_TURNED_AWAY, b"not a child of this server", b""]
                else:
                    verdict = [_LET_IN, b"", name.encode()]
                questions.send_multipart([version, request, *verdict, b""])
        questions.close(linger=0)

    def _owner(self, mechanism: bytes, *credentials: bytes) -> str | None:
        """Return whose key was proved to be at the other end."""
        if mechanism != b"CURVE" or len(credentials) != 1:
            return None
        return self._names.get(z85.encode(credentials[0]))
