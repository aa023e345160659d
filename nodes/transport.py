"""Messages between a server and its children: ROUTER and DEALER over TCP, without copies."""

import contextlib
import select
from collections import Counter
from collections.abc import Callable, Iterable
from math import ceil
from typing import Any, cast

import zmq

from contracts.messages import REASON, SENT_AT, Kind
from nodes.control import Control
from nodes.recorder import now
from protocols.wire import Expected, Message, Refused, decode, encode

PORT = 5555
_BACKLOG = 4096  # ZeroMQ's 100 loses joins when a thousand clients start at once
_LINGER_MS = 10_000  # a last message may still be on a slow link when its sender closes
_LONGEST_POLL_MS = 1 << 30  # what poll(2) can hold; a longer wait polls again

OnRefusal = Callable[[str, Refused], None]


class NotJoined(Exception):
    """A peer was not there by its deadline."""


class Endpoint:
    """What both ends share: sending, and receiving until a deadline."""

    def __init__(self, name: str, kind: int, max_bytes: int, on_refusal: OnRefusal) -> None:
        self.name = name
        self.refused: Counter[str] = Counter()
        self._max_bytes = max_bytes
        self._on_refusal = on_refusal
        self._context = zmq.Context()
        self._socket = self._context.socket(kind)
        for option in (zmq.SNDHWM, zmq.RCVHWM):
            self._socket.setsockopt(option, 0)
        self._socket.setsockopt(zmq.LINGER, _LINGER_MS)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 20)
        # Up to this a message that is too large is refused by name; ZeroMQ cuts off what is beyond.
        self._socket.setsockopt(zmq.MAXMSGSIZE, 4 * max_bytes)
        self.descriptor = cast(int, self._socket.getsockopt(zmq.FD))
        self._readable = select.poll()
        self._readable.register(self.descriptor, select.POLLIN)

    def close(self, abandon: bool = False) -> None:
        """Once what was sent has left; or at once, giving up what has not."""
        self._socket.close(linger=0 if abandon else None)
        self._context.term()

    def _send(self, route: list[bytes], message: Message) -> None:
        message.meta[SENT_AT] = now()
        self._socket.send_multipart([*route, *encode(message)], copy=False)

    def _frames(self, deadline: float) -> list[zmq.Frame] | None:
        """The next message's frames, or None when the deadline passes first.

        Waits on the socket's descriptor: zmq_poll measures its timeout with the processor's cycle
        counter, which the guest's clock does not follow.
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
        """The message, signed by whoever is at the other end of the line; or Refused."""
        message = decode([frame.buffer for frame in frames], expected)
        if message.sender != sender:
            raise Refused("malformed", f"signed by {message.sender!r}", sender)
        if not isinstance(message.meta.get(SENT_AT), float):
            raise Refused("malformed", "does not say when it was sent", sender)
        return message

    def _note(self, sender: str, refusal: Refused) -> None:
        self.refused[refusal.reason] += 1
        self._on_refusal(sender, refusal)


def first_to_hear(
    endpoints: Iterable[Endpoint], deadline: float, control: Control | None = None
) -> Endpoint | Control | None:
    """The first of these that has a message, the control line last; None at the deadline."""
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
    """The upper end: hears its children by name."""

    def __init__(self, name: str, max_bytes: int, on_refusal: OnRefusal, port: int = PORT) -> None:
        super().__init__(name, zmq.ROUTER, max_bytes, on_refusal)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._socket.setsockopt(zmq.BACKLOG, _BACKLOG)
        self._socket.bind(f"tcp://*:{port}")

    def admit(self, children: tuple[str, ...], deadline: float) -> None:
        """Welcome every child, or say who did not come."""
        missing = set(children)
        joining = Expected(kinds=frozenset({Kind.JOIN}), max_bytes=self._max_bytes)
        while missing:
            received = self.receive(deadline, joining)
            if received is None:
                few = ", ".join(sorted(missing)[:5])
                raise NotJoined(f"{len(missing)} of {len(children)} did not join in time: {few}")
            if received.sender in missing:
                missing.discard(received.sender)
                self.send(received.sender, Message(Kind.WELCOME, self.name, 0))

    def send(self, child: str, message: Message) -> None:
        """Send a message to a child, without waiting for it to arrive."""
        self._send([child.encode()], message)

    def receive(self, deadline: float, expected: Expected) -> Message | None:
        """The next acceptable message, or None at the deadline; the others are refused."""
        while (frames := self._frames(deadline)) is not None:
            route = frames[0].bytes
            child = _name_of(route)
            try:
                return self._decoded(frames[1:], expected, child)
            except Refused as refusal:
                self._refuse(route, child, refusal)
                if now() > deadline:
                    break  # a flood of nonsense must not keep us
        return None

    def refuse(self, child: str, refusal: Refused) -> None:
        """Do not accept what this child sent: counted, recorded, and the child told."""
        self._refuse(child.encode(), child, refusal)

    def _refuse(self, route: bytes, child: str, refusal: Refused) -> None:
        self._note(child, refusal)
        notice = Message(Kind.REFUSED, self.name, 0, {REASON: refusal.reason})
        with contextlib.suppress(zmq.ZMQError):  # whoever it was is gone
            self._send([route], notice)


def _name_of(route: bytes) -> str:
    """A peer's name; one that gave none, or nothing readable, goes by its bytes."""
    name = route.decode(errors="replace")
    readable = name.isprintable() and "\N{REPLACEMENT CHARACTER}" not in name
    return name if readable else f"stranger {route.hex()}"


class ClientEndpoint(Endpoint):
    """The lower end: one connection to its parent."""

    def __init__(
        self,
        name: str,
        parent: str,
        address: str,
        max_bytes: int,
        on_refusal: OnRefusal,
        port: int = PORT,
    ) -> None:
        super().__init__(name, zmq.DEALER, max_bytes, on_refusal)
        self.parent = parent
        self._socket.setsockopt(zmq.IDENTITY, name.encode())
        self._socket.connect(f"tcp://{address}:{port}")

    def join(self, deadline: float) -> None:
        """Ask to be let in and wait for the welcome."""
        self.send(Message(Kind.JOIN, self.name, 0))
        welcome = Expected(kinds=frozenset({Kind.WELCOME}), max_bytes=self._max_bytes)
        if self.receive(deadline, welcome) is None:
            raise NotJoined(f"no welcome from {self.parent} in time")

    def send(self, message: Message) -> None:
        """Send a message to the server, without waiting for it to arrive."""
        self._send([], message)

    def receive(self, deadline: float, expected: Expected) -> Message | None:
        """The next acceptable message from the parent, or None at the deadline."""
        while (frames := self._frames(deadline)) is not None:
            try:
                return self._decoded(frames, expected, self.parent)
            except Refused as refusal:
                self._note(self.parent, refusal)
                if now() > deadline:
                    break
        return None
