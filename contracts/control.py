"""The words that the launcher and a node exchange over their control line.

A control line is a socket pair and not part of the emulated network: words take no emulated time.
Each word is one JSON object on a line of its own: its name under `is`, and its fields. docs/wire.md
specifies them; `nodes.control.Control` sends and reads them.
"""

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Word:
    """One message over a control line; every subclass has its own `word`."""

    word: ClassVar[str]


# From the launcher to a node, before training.


@dataclass(frozen=True)
class Listen(Word):
    """Be the upper end when a link is measured; answered by Listening."""

    word = "listen"
    address: str


@dataclass(frozen=True)
class Measure(Word):
    """Be the lower end: send and fetch this many bytes; answered by Measured."""

    word = "measure"
    address: str
    upload: int
    download: int


@dataclass(frozen=True)
class Keys(Word):
    """To a node, before Start: what it proves with who it is, and by what it knows the others.

    Keys are the text that ZeroMQ takes (Z85). They belong on control lines and nowhere else.
    """

    word = "keys"
    public: str
    secret: str = field(repr=False)
    servers: dict[str, str]  # that it may join: name -> public key
    children: dict[str, str]  # that may join it: name -> public key


@dataclass(frozen=True)
class Start(Word):
    """Start the code of the node's role."""

    word = "start"
    restarted: int = 0  # how many earlier processes of this node the timeline has ended


@dataclass(frozen=True)
class Go(Word):
    """To every top server, and to every client without a server: begin the first round."""

    word = "go"


# From the launcher to a node, during training, where clients come and go.


@dataclass(frozen=True)
class Cells(Word):
    """To a client, or an edge below a cloud: from now on it hears exactly these servers."""

    word = "cells"
    hears: list[str]
    over: list[str]  # servers that are not in `hears` because they have finished
    since: int  # the number of this change of who hears whom, from 1


@dataclass(frozen=True)
class Left(Word):
    """To a server: this client, or edge below it, no longer hears it."""

    word = "left"
    client: str
    since: int  # the number of this change of who hears whom, from 1


@dataclass(frozen=True)
class Rejoining(Word):
    """To a server that was restarted: these were just told to join it again."""

    word = "rejoining"
    children: list[str]


@dataclass(frozen=True)
class Stop(Word):
    """To a client: training is over everywhere."""

    word = "stop"


# From the launcher to a node that shares its device.


@dataclass(frozen=True)
class Due(Word):
    """The node's training ends at this moment, as things are; a later word replaces it."""

    word = "due"
    job: int
    moment: float  # the node's clock, in seconds


# From a node to the launcher.


@dataclass(frozen=True)
class Listening(Word):
    """The upper end of a measurement accepts connections."""

    word = "listening"


@dataclass(frozen=True)
class Measured(Word):
    """The result of a measurement, from its lower end."""

    word = "measured"
    round_trip: float  # seconds
    rate_up: float  # bits per second on the wire
    rate_down: float


@dataclass(frozen=True)
class Bound(Word):
    """A server accepts joins from now on."""

    word = "bound"


@dataclass(frozen=True)
class Ready(Word):
    """The node is ready to train; at a server, all children have joined."""

    word = "ready"


@dataclass(frozen=True)
class RoundEnded(Word):
    """A top server has finished this global round; round 0 ends when training starts."""

    word = "round"
    round: int
    end: float  # the node's clock, in seconds


@dataclass(frozen=True)
class Events(Word):
    """The events since the node last sent some: lines for events.jsonl."""

    word = "events"
    events: list[Any]  # contracts.events.EventFields, with times of the node's clock


@dataclass(frozen=True)
class Done(Word):
    """The node has finished its role."""

    word = "done"


@dataclass(frozen=True)
class Failed(Word):
    """The node has failed; nothing follows."""

    word = "failed"
    error: str


@dataclass(frozen=True)
class Occupy(Word):
    """The node begins to compute on the device that it shares; answered by Due."""

    word = "occupy"
    job: int  # counts the node's trainings
    moment: float  # the node's clock, in seconds
    seconds: float  # that it would take alone


@dataclass(frozen=True)
class Vacate(Word):
    """The training has ended."""

    word = "vacate"
    job: int
    moment: float


# Only between the fidelity matrix and its hosts, which also use Listen and Listening.


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
    """Receive one message from each of these; answered by Listening, then by Gathered."""

    word = "gather"
    port: int
    names: list[str]


@dataclass(frozen=True)
class Send(Word):
    """Send one message of that many bytes to that address and port."""

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
    """Return the word as one line, including the line end."""
    return json.dumps({"is": said.word, **vars(said)}).encode() + b"\n"


def decode(line: bytes) -> Word:
    """Read a line; ValueError when it is not one of the words above with its fields."""
    fields = json.loads(line)
    try:
        return _BY_WORD[fields.pop("is")](**fields)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not said over a control line: {line[:80]!r}") from error
