"""The join handshake: a child asks to be let in, and the server welcomes it.

There is one handshake for two occasions. At the start, a child joins without any meta and waits for
the welcome, and the server waits for all its children. Where clients come and go, a client joins
while the run goes on: it says which change made it join and which update it still holds, does not
wait, and the welcome says which update the server wants. docs/wire.md specifies both.
"""

from dataclasses import dataclass
from typing import Any

from contracts.messages import HOLDS, SINCE, WANTED, Kind
from nodes.transport import ClientEndpoint, ServerEndpoint
from protocols.wire import Expected, Message


class NotJoined(Exception):
    """A peer was not there by its deadline."""


@dataclass(frozen=True)
class JoinDuringRun:
    """What a client says when it joins a server while the run goes on."""

    since: int  # the number of the change that made it join
    holds: Any  # the local round whose update it still has, 0 for none; as received, unchecked

    @classmethod
    def from_message(cls, message: Message) -> "JoinDuringRun | None":
        """Read a join; None if it does not say which change caused it."""
        since = message.meta.get(SINCE)
        return cls(since, message.meta.get(HOLDS)) if type(since) is int else None


def ask_to_join(endpoint: ClientEndpoint, details: JoinDuringRun | None = None) -> None:
    """Send a join, without waiting for the welcome; `details` only while the run goes on."""
    meta = {} if details is None else {SINCE: details.since, HOLDS: details.holds}
    endpoint.send(Message(Kind.JOIN, endpoint.name, 0, meta))


def join(endpoint: ClientEndpoint, deadline: float) -> None:
    """Join at the start of a run: ask, and wait for the welcome; NotJoined at the deadline."""
    ask_to_join(endpoint)
    welcome = Expected(kinds=frozenset({Kind.WELCOME}), max_bytes=endpoint.max_bytes)
    if endpoint.receive(deadline, welcome) is None:
        raise NotJoined(f"no welcome from {endpoint.parent} in time; raise limits.join")


def welcome(endpoint: ServerEndpoint, child: str, wanted: int | None = None) -> None:
    """Answer a join; `wanted` (a local round, 0 for none) only while the run goes on."""
    meta = {} if wanted is None else {WANTED: wanted}
    endpoint.send(child, Message(Kind.WELCOME, endpoint.name, 0, meta))


def admit(endpoint: ServerEndpoint, children: tuple[str, ...], deadline: float) -> None:
    """Welcome every child at the start of a run; NotJoined names who did not come in time."""
    missing = set(children)
    joining = Expected(kinds=frozenset({Kind.JOIN}), max_bytes=endpoint.max_bytes)
    while missing:
        received = endpoint.receive(deadline, joining)
        if received is None:
            few = ", ".join(sorted(missing)[:5])
            raise NotJoined(
                f"{len(missing)} of {len(children)} did not join in time: {few}; raise limits.join"
            )
        if received.sender in missing:
            missing.discard(received.sender)
            welcome(endpoint, received.sender)
