"""What the launcher and a node say to each other over their control line, which is no network.

Each is one JSON object on a line of its own: its word under `is`, and its fields. The control line
is a socket pair, so nothing of this takes emulated time.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Word:
    """Something that is said over a control line; every subclass has its own word."""

    word: ClassVar[str]


# The launcher to a node, before training.


@dataclass(frozen=True)
class Listen(Word):
    """Be the upper end of a link's measurement; answered by Listening."""

    word = "listen"
    address: str


@dataclass(frozen=True)
class Measure(Word):
    """Be the lower end, and send and fetch so many bytes; answered by Measured."""

    word = "measure"
    address: str
    upload: int
    download: int


@dataclass(frozen=True)
class Start(Word):
    """Begin to play your role."""

    word = "start"
    restarted: int = 0  # how many earlier processes of this node the timeline has ended


@dataclass(frozen=True)
class Go(Word):
    """To every top server (or client alone): begin the first round."""

    word = "go"


# The launcher to a node, during training, where clients come and go.


@dataclass(frozen=True)
class Cells(Word):
    """To a client: these servers are heard from now on."""

    word = "cells"
    hears: list[str]
    over: list[str]  # servers that have finished, and are missing in `hears` for that reason
    since: int  # counts the moments at which anything changed


@dataclass(frozen=True)
class Left(Word):
    """To a server: this client does not hear it any more."""

    word = "left"
    client: str
    since: int  # counts the moments at which anything changed


@dataclass(frozen=True)
class Stop(Word):
    """To a client: training is over everywhere."""

    word = "stop"


# A node to the launcher.


@dataclass(frozen=True)
class Listening(Word):
    """The upper end of a measurement can be connected to."""

    word = "listening"


@dataclass(frozen=True)
class Measured(Word):
    """What the lower end of a measurement found."""

    word = "measured"
    round_trip: float  # seconds
    rate_up: float  # bits per second on the wire
    rate_down: float


@dataclass(frozen=True)
class Bound(Word):
    """A server takes joins from now on."""

    word = "bound"


@dataclass(frozen=True)
class Ready(Word):
    """All that comes before training is done; a server has all its children."""

    word = "ready"


@dataclass(frozen=True)
class RoundEnded(Word):
    """A top server has finished this global round; round 0 ends when training starts."""

    word = "round"
    round: int
    end: float  # the node's clock, in seconds


@dataclass(frozen=True)
class Events(Word):
    """What the node spent its time on since it last told: lines for events.jsonl."""

    word = "events"
    events: list[Any]  # contracts.events.EventFields, in the node's own time


@dataclass(frozen=True)
class Done(Word):
    """The node has played its role to the end."""

    word = "done"


@dataclass(frozen=True)
class Failed(Word):
    """The node gives up."""

    word = "failed"
    error: str


# The fidelity matrix and its hosts; it also uses Listen and Listening.


@dataclass(frozen=True)
class Ping(Word):
    """Measure the round trip to that address; answered by Pinged."""

    word = "ping"
    address: str


@dataclass(frozen=True)
class Pinged(Word):
    """The round trip that was measured."""

    word = "pinged"
    seconds: float


@dataclass(frozen=True)
class Gather(Word):
    """Take one message from each of these; answered by Listening, and in the end by Gathered."""

    word = "gather"
    port: int
    names: list[str]


@dataclass(frozen=True)
class Send(Word):
    """Send one message of that many bytes there."""

    word = "send"
    address: str
    port: int
    size: int


@dataclass(frozen=True)
class Gathered(Word):
    """How long each message took."""

    word = "gathered"
    seconds: list[float]


_BY_WORD: dict[str, type[Word]] = {kind.word: kind for kind in Word.__subclasses__()}


def encode(said: Word) -> bytes:
    """One line, with its end."""
    return json.dumps({"is": said.word, **vars(said)}).encode() + b"\n"


def decode(line: bytes) -> Word:
    """What a line says; ValueError when it is none of the words above with its fields."""
    fields = json.loads(line)
    try:
        return _BY_WORD[fields.pop("is")](**fields)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not said over a control line: {line[:80]!r}") from error
