"""The lines of events.jsonl: what every node spent its time on, and what happened to it.

docs/records.md specifies them. Nodes write them through `nodes.recorder.Recorder` and the launcher
through its timeline; `reports.records.events` reads them back. Every line has the five fields of
`EventFields`, and of `Details` those that `KEYS` lists for its phase.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypedDict


class Phase(StrEnum):
    """What a line is about: a phase, which takes time, or a note of one moment.

    The start and the end of a note are the same.
    """

    # Phases of a round.
    DOWNLOAD = "download"  # a model on its way to the node
    SUPPLY = "supply"  # data on its way to the node, once, ahead of its first model
    COMPUTE = "compute"  # a training
    UPLOAD = "upload"  # an update on its way from the node to its server
    WAIT = "wait"  # a server waits for updates; a child, for the last of the other children
    AGGREGATE = "aggregate"  # a server combines the updates
    ROUND = "round"  # a whole global round

    # Notes of a round.
    DEADLINE = "deadline"  # updates were missing at the deadline of the round
    UNREACHABLE = "unreachable"  # the model could not be sent to the node
    LATE = "late"  # the node's update came after its round
    REFUSED = "refused"  # the node did not accept a message

    # Where clients come and go.
    MEMBERS = "members"  # a note: who is in a server's local round
    EMPTY = "empty"  # a phase: a server had no client
    JOINED = "joined"  # a phase: from hearing a server until its welcome
    LEFT = "left"  # a note: the client no longer hears a server
    ABANDONED = "abandoned"  # a note: the client left while its update was awaited
    RESENT = "resent"  # a note: it came back and sends the update again

    # What the timeline did.
    HANDOVER = "handover"  # from the first to the last change of a client's links
    LEG = "leg"  # a client walks in a straight line
    LINK = "link"  # links were given another profile
    OUTAGE = "outage"  # a link, or all of a node's, was cut
    RESTORED = "restored"  # and came back
    CRASH = "crash"  # a process was ended
    RESTART = "restart"  # and started anew
    AWAY = "away"  # a client is not there any more
    BACK = "back"  # and is there again


# `from` cannot be written as a class attribute.
_Ways = TypedDict("_Ways", {"from": list[Any], "to": list[Any]}, total=False)


class Timing(TypedDict, total=False):
    """The modelled time of a training, and by how much the real one exceeded it."""

    modelled: float  # seconds that the device takes
    overrun: float  # seconds by which the result came later than that
    epochs: int


class Details(_Ways, Timing, total=False):
    """The fields that a line may have beyond who, what and when.

    `from` and `to` are names of servers in a handover, and metres (x, y) in a leg. An aggregate
    also has whatever its method decided, by child, under names that the method chooses.
    """

    local_round: int  # of the server; 0 for none
    answers: int  # without rounds: the local round of the model that the update answers
    peer: str  # the node at the other end
    bytes: int  # of all tensors
    moment: str  # of a server's own training: before, beside, after
    members: list[str]
    missing: list[str]
    reason: str  # one of protocols.wire.REASONS
    stage: str  # how far the client was with that server: waiting, training, sent
    mode: str  # break-before-make or make-before-break
    link_seconds: float  # without any link
    position: list[float]  # metres (x, y), of a client that walks
    profile: str | None  # None where the change gives no name
    links: list[str]
    late: float  # seconds by which the cut came after its time


class EventFields(Details):
    """One line. Times are seconds from time zero, when the first global round starts."""

    node: str
    phase: str  # a Phase
    round: int  # the global round; 0 where the node does not know it
    start: float
    end: float


_TRANSFER = frozenset({"local_round", "peer", "bytes"})
_IN_LOCAL_ROUND = frozenset({"local_round"})

# The `Details` that each phase has; those that are also in OPTIONAL may be left out.
KEYS: Mapping[Phase, frozenset[str]] = {
    Phase.DOWNLOAD: _TRANSFER,
    Phase.SUPPLY: _TRANSFER,
    Phase.COMPUTE: frozenset({"local_round", "peer", "moment", "modelled", "overrun", "epochs"}),
    Phase.UPLOAD: _TRANSFER | {"answers"},
    Phase.WAIT: _IN_LOCAL_ROUND,
    Phase.AGGREGATE: _IN_LOCAL_ROUND,
    Phase.ROUND: frozenset(),
    Phase.DEADLINE: frozenset({"missing"}),
    Phase.UNREACHABLE: frozenset(),
    Phase.LATE: frozenset({"peer"}),
    Phase.REFUSED: frozenset({"peer", "reason"}),
    Phase.MEMBERS: frozenset({"local_round", "members"}),
    Phase.EMPTY: _IN_LOCAL_ROUND,
    Phase.JOINED: frozenset({"peer"}),
    Phase.LEFT: frozenset({"local_round", "peer", "stage"}),
    Phase.ABANDONED: frozenset({"local_round", "peer"}),
    Phase.RESENT: frozenset({"local_round", "peer"}),
    Phase.HANDOVER: frozenset({"from", "to", "mode", "link_seconds", "position"}),
    Phase.LEG: frozenset({"from", "to"}),
    Phase.LINK: frozenset({"profile", "links"}),
    Phase.OUTAGE: frozenset({"late"}),
    Phase.RESTORED: frozenset(),
    Phase.CRASH: frozenset(),
    Phase.RESTART: frozenset(),
    Phase.AWAY: frozenset(),
    Phase.BACK: frozenset(),
}
# A client without a server has no peer, a server's own training has a moment instead of one, only a
# method without rounds has updates that answer another round's model, and only a client that walks
# has a position.
OPTIONAL: Mapping[Phase, frozenset[str]] = {
    Phase.UPLOAD: frozenset({"answers"}),
    Phase.COMPUTE: frozenset({"peer", "moment"}),
    Phase.HANDOVER: frozenset({"position"}),
}
