"""The two roles of a method: what a server decides and what a client decides in each round.

Nodes call these classes and do all the sending themselves; nothing here knows about sockets.

At a server (the cloud, or an edge above its clients), one round is `select`, which says who takes
part, `outgoing` for each of these, `add` for every update as it arrives, and `finish` when all
updates are in (`no_updates` if none came). An edge also takes the model from above (`receive`) and
hands its aggregate up (`upward`). A cloud with data of its own may send data to every child once
(`data_to_share`) and train itself (`server_job`, whose result comes back in `server_trained`). What
a top server knows after a round goes through a restart by `state_to_keep` and `restore_state`.

At a client, one round is `work`, which says how to train the model that arrived, and `reply`, which
says what to send back. A client within reach of several servers overrides `jobs` instead of `work`.
`receive_data` takes what the server shared; `state_to_keep` and `restore_state` carry the client's
state through a restart.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from contracts.messages import LOSS, SAMPLES
from contracts.training import EXTRA_LABELS, Result
from protocols.wire import Refused

Tensors = dict[str, np.ndarray]
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]  # name -> (dtype, shape)
# When a server trains: before all rounds, beside its clients' training, after an aggregation.
Moment = Literal["before", "beside", "after"]


@dataclass(slots=True)
class Package:
    """The content of a message: plain data and tensors, without addresses."""

    meta: dict[str, Any] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)


def sample_count(package: Package) -> int:
    """Return how many samples an update represents, its weight; raise Refused if absent."""
    samples = package.meta.get(SAMPLES)
    if type(samples) is not int or samples < 0:
        raise Refused("malformed", f"no sample count: {samples!r:.40}")
    return samples


@dataclass(slots=True)
class Work:
    """How a client is to train in this round."""

    epochs: int
    rule: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)  # what the rule needs besides the model
    steps: int = 0  # stop after this many batches; 0 means after all epochs
    rate_factor: float = 1.0  # multiplies this round's learning rate from the scenario

    @property
    def extra_samples(self) -> int:
        """How many samples are trained on in addition to the trainer's own."""
        return len(self.tensors.get(EXTRA_LABELS, ()))


@dataclass(slots=True)
class Job:
    """One training within a round: what to train, and which servers get the result."""

    to: tuple[str, ...]
    model: Tensors
    work: Work


@dataclass(frozen=True)
class Facts:
    """What a server knows about its run; the comments give the papers' symbols."""

    clients: int = 1  # N
    institutions: int = 0  # servers between this one and the clients
    sampled: int = 1  # S, clients taking part in a round
    samples: int = 1  # n, over all clients
    server_samples: int = 0  # n_0
    batch_size: int = 1  # B
    learning_rate: float = 1.0  # eta_l of the first round


@dataclass(frozen=True, slots=True)
class Candidate:
    """A client that could take part in a round, and what its server knows of it."""

    name: str
    samples: int
    rounds: int = 0  # in which its update came to this server
    seconds: float | None = None  # from sending the model to its update, the last time; None: never
    loss: float | None = None  # of its last training, as it told


@dataclass(frozen=True)
class Candidates:
    """Who could take part in the round that begins at a server."""

    local_round: int
    clock: float  # seconds since this server began its first round
    present: tuple[Candidate, ...]
    drawn: tuple[str, ...]  # the seeded draw of `clients_per_round`; all if there is no such key


class Server:
    """A server's side of a method, at the cloud or at an edge."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        self.settings = settings
        self.model = model
        self.samples = 0
        self.facts = Facts()  # the node sets this and `data` before the first round
        self.data: Tensors = {}  # the server's own samples, if the method sends them

    def update_shapes(self, model: Shapes) -> Shapes:
        """Return the tensors an update must have: the model's, unless the method sends more."""
        return model

    def data_to_share(self) -> Package | None:
        """Return what every child is sent once, ahead of its first model; None for nothing."""
        return None

    def server_job(self, moment: Moment) -> Job | None:
        """Return what the server trains on its own data at this moment; None for nothing."""
        return None

    def server_trained(self, moment: Moment, result: Result) -> None:
        """Use the result of `server_job`; by default it is dropped."""

    def receive(self, package: Package) -> None:
        """Adopt the model that came from above; it represents no samples of this edge yet."""
        self.model, self.samples = package.tensors, 0

    def select(self, candidates: Candidates) -> Collection[str]:
        """Return who takes part in the round that begins; edges below a cloud always do."""
        return candidates.drawn

    def outgoing(self, child: str) -> Package:
        """Return what this child is sent at the start of a round."""
        raise NotImplementedError

    def add(self, child: str, package: Package) -> None:
        """Combine one update or raise Refused; keep it only if the method needs it later."""
        raise NotImplementedError

    def finish(self) -> dict[str, Any]:
        """Make the new model from the updates; return the decisions to record."""
        raise NotImplementedError

    def no_updates(self) -> dict[str, Any]:
        """Called instead of `finish` when no update was added; by default the model stays."""
        return {}

    def state_to_keep(self) -> Package:
        """Return all that a top server needs after a round to go on with the next one."""
        return Package({}, self.model)

    def restore_state(self, state: Package) -> None:
        """Take back, after a restart, what `state_to_keep` returned before it."""
        self.model = state.tensors

    def upward(self) -> Package:
        """Return what an edge sends to its parent after its last aggregation."""
        return Package({SAMPLES: self.samples}, self.model)


class Client:
    """A client's side of a method; its attributes are the state it keeps between rounds."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def jobs(self, heard: dict[str, Package]) -> list[Job]:
        """Return what to train in this round, in order, given what each server in reach sent."""
        return [
            Job((server,), package.tensors, self.work(package)) for server, package in heard.items()
        ]

    def receive_data(self, package: Package) -> None:
        """Take the data that the server sends every client once."""

    def state_to_keep(self) -> Tensors:
        """Return the state that must survive a restart, as on a device's disk."""
        return {}

    def restore_state(self, state: Tensors) -> None:
        """Take back, after a restart, what `state_to_keep` returned before it."""

    def work(self, package: Package) -> Work:
        """Return how to train the model that arrived."""
        raise NotImplementedError

    def reply(self, package: Package, result: Result) -> Package:
        """Return what goes back to the parent."""
        return Package({SAMPLES: result.samples, LOSS: result.loss}, result.tensors)
