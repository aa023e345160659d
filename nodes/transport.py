"""Messages between a server and its children: ZeroMQ ROUTER and DEALER sockets over TCP.

Tensors are handed over without copying them. With keys (contracts.control.Keys) both ends prove who
they are, and all is encrypted, which copies. A child's address at its server is then its public
key: it only ever passes encrypted, so nobody else can take the address.
"""

import contextlib
import select
from collections import Counter
from collections.abc import Callable, Iterable
from math import ceil
from typing import Any, cast

import zmq

from contracts.control import Keys
from contracts.messages import REASON, SENT_AT, Kind
from nodes.control import Control
from nodes.gate import Gate
from nodes.recorder import now
from protocols.wire import Expected, Message, Refused, decode, encode

PORT = 5555
_BACKLOG = 4096  # ZeroMQ's 100 loses joins when a thousand clients start at once
_LINGER_MS = 10_000  # a last message may still be on a slow link when its sender closes
_LONGEST_POLL_MS = 1 << 30  # what poll(2) can hold; a longer wait polls again

OnRefusal = Callable[[str, Refused], None]


class Endpoint:
    """What both ends share: sending, and receiving until a deadline.

    `on_refusal` is called with the name of the sender of every message that is not accepted.
    """

    def __init__(self, name: str, kind: int, max_bytes: int, on_refusal: OnRefusal) -> None:
        self.name = name
        self.refused: Counter[str] = Counter()
        self.max_bytes = max_bytes
        self._on_refusal = on_refusal
        self._context = zmq.Context()
        self._socket = self._context.socket(kind)
        for option in (zmq.SNDHWM, zmq.RCVHWM):
            self._socket.setsockopt(option, 0)
        self._socket.setsockopt(zmq.LINGER, _LINGER_MS)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 20)
        # A message that is too large is refused by name up to this size; ZeroMQ drops the
        # connection of whoever sends even more.
        self._socket.setsockopt(zmq.MAXMSGSIZE, 4 * max_bytes)
        self.descriptor = cast(int, self._socket.getsockopt(zmq.FD))
        self._readable = select.poll()
        self._readable.register(self.descriptor, select.POLLIN)

    def close(self, abandon: bool = False) -> None:
        """Close once everything sent has left; with `abandon` at once, dropping what has not."""
        self._socket.close(linger=0 if abandon else None)
        self._context.term()

    def _send(self, route: list[bytes], message: Message) -> None:
        message.meta[SENT_AT] = now()
        self._socket.send_multipart([*route, *encode(message)], copy=False)

    def _frames(self, deadline: float) -> list[zmq.Frame] | None:
        """Wait for the next message and return its frames, or None when the deadline passes first.

        Waits on the socket's descriptor, because zmq_poll measures its timeout with the
        processor's cycle counter, which the guest's clock does not follow.
        """
        while not self.has_message():
            left = deadline - now()
            if left <= 0:
                return None
            self._readable.poll(min(ceil(left * 1000), _LONGEST_POLL_MS))
        frames: list[Any] = self._socket.recv_multipart(copy=False)
        return frames

    def has_message(self) -> bool:
        """Whether a message can be received without waiting."""
        events: Any = self._socket.getsockopt(zmq.EVENTS)
        return bool(events & zmq.POLLIN)

    def _decoded(self, frames: list[zmq.Frame], expected: Expected, sender: str) -> Message:
        """Decode a message; Refused unless it is signed by who is at the other end of the line."""
        message = decode([frame.buffer for frame in frames], expected)
        if message.sender != sender:
            raise Refused("identity", f"signed by {message.sender!r}", sender)
        if not isinstance(message.meta.get(SENT_AT), float):
            raise Refused("malformed", "does not say when it was sent", sender)
        return message

    def _note(self, sender: str, refusal: Refused) -> None:
        self.refused[refusal.reason] += 1
        self._on_refusal(sender, refusal)


def first_with_message(
    endpoints: Iterable[Endpoint], deadline: float, control: Control | None = None
) -> Endpoint | Control | None:
    """Wait until one of these has a message and return it; None at the deadline.

    Of several that are ready, the earlier endpoint is returned; the control line comes last.
    """
    endpoints = list(endpoints)
    readable = select.poll()
    for descriptor in (*(e.descriptor for e in endpoints), *([control] if control else ())):
        readable.register(descriptor, select.POLLIN)
    ready: list[tuple[int, int]] = []
    while True:
        for endpoint in endpoints:
            if endpoint.has_message():
                return endpoint
        if control and any(descriptor == control.fileno() for descriptor, _ in ready):
            return control
        left = deadline - now()
        if left <= 0:
            return None
        ready = readable.poll(min(ceil(left * 1000), _LONGEST_POLL_MS))


class ServerEndpoint(Endpoint):
    """The upper end of the links to a server's children, which it addresses by name.

    With `keys`, only children that prove who they are can connect (nodes.gate).
    """

    def __init__(
        self,
        name: str,
        max_bytes: int,
        on_refusal: OnRefusal,
        port: int = PORT,
        keys: Keys | None = None,
        children_leave: bool = False,
    ) -> None:
        super().__init__(name, zmq.ROUTER, max_bytes, on_refusal)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._socket.setsockopt(zmq.BACKLOG, _BACKLOG)
        self._gate = None
        if keys is not None:
            self._gate = Gate(self._context, self._socket, keys, children_leave)
        self._socket.bind(f"tcp://*:{port}")

    def send(self, child: str, message: Message) -> None:
        """Send a message to a child, without waiting for it to arrive."""
        route = child.encode() if self._gate is None else self._gate.route_to(child)
        self._send([route], message)

    def receive(self, deadline: float, expected: Expected) -> Message | None:
        """Wait for the next acceptable message; None at the deadline. Others are refused."""
        while (frames := self._frames(deadline)) is not None:
            self._note_strangers()
            route = frames[0].bytes
            child = _name_of(route) if self._gate is None else self._gate.prover(frames[0])
            try:
                if self._gate is not None and self._gate.name_at(route) != child:
                    raise Refused("identity", "came from an address that is not its own", child)
                return self._decoded(frames[1:], expected, child)
            except Refused as refusal:
                self._refuse(route, child, refusal)
                if now() > deadline:
                    break  # a flood of nonsense must not keep us beyond the deadline
        self._note_strangers()
        return None

    def refuse(self, child: str, refusal: Refused) -> None:
        """Do not accept what this child sent: count it, record it, and tell the child."""
        route = child.encode() if self._gate is None else self._gate.route_to(child)
        self._refuse(route, child, refusal)

    def close(self, abandon: bool = False) -> None:
        """Close once everything sent has left; with `abandon` at once, dropping what has not."""
        if self._gate is not None:
            self._gate.close(self._socket)
        super().close(abandon)

    def _refuse(self, route: bytes, child: str, refusal: Refused) -> None:
        self._note(child, refusal)
        notice = Message(Kind.REFUSED, self.name, 0, {REASON: refusal.reason})
        with contextlib.suppress(zmq.ZMQError):  # the sender is gone
            self._send([route], notice)

    def _note_strangers(self) -> None:
        """Record who was turned away meanwhile; their connections are closed, which tells them."""
        for stranger in self._gate.turned_away() if self._gate else ():
            self._note(stranger, Refused("stranger", "has no key of this run", stranger))


def _name_of(route: bytes) -> str:
    """Return a peer's name; its bytes in hexadecimal if it gave none that can be read."""
    name = route.decode(errors="replace")
    readable = name.isprintable() and "\N{REPLACEMENT CHARACTER}" not in name
    return name if readable else f"stranger {route.hex()}"


class ClientEndpoint(Endpoint):
    """The lower end: a child's connection to one server, its parent."""

    def __init__(
        self,
        name: str,
        parent: str,
        address: str,
        max_bytes: int,
        on_refusal: OnRefusal,
        port: int = PORT,
        keys: Keys | None = None,
    ) -> None:
        super().__init__(name, zmq.DEALER, max_bytes, on_refusal)
        self.parent = parent
        self._socket.setsockopt(zmq.IDENTITY, (keys.public if keys else name).encode())
        if keys is not None:
            self._socket.setsockopt(zmq.CURVE_SERVERKEY, keys.servers[parent].encode())
            self._socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.public.encode())
            self._socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret.encode())
        self._socket.connect(f"tcp://{address}:{port}")

    def send(self, message: Message) -> None:
        """Send a message to the server, without waiting for it to arrive."""
        self._send([], message)

    def receive(self, deadline: float, expected: Expected) -> Message | None:
        """Wait for the next acceptable message from the parent; None at the deadline."""
        while (frames := self._frames(deadline)) is not None:
            try:
                return self._decoded(frames, expected, self.parent)
            except Refused as refusal:
                self._note(self.parent, refusal)
                if now() > deadline:
                    break
        return None
