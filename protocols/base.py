"""What a method decides at each role. Nodes do the sending; nothing here knows of sockets.

One round at a server (the cloud, or an edge among its clients):
`outgoing` for every child, `add` for every update as it arrives, `finish` when all are in.
An edge also has `receive` (the model from above) and `upward` (its aggregate, when done).
A cloud with data of its own has `supply` (what every child gets once) and `study` (its own
training); a client has `supplied`.
One round at a client: `work` says how to train what arrived, `reply` what to send back. A client
that hears several servers has `jobs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from contracts.messages import LOSS, SAMPLES
from contracts.training import EXTRA_LABELS, Result
from protocols.wire import Refused

Tensors = dict[str, np.ndarray]
Shapes = Mapping[str, tuple[str, tuple[int, ...]]]  # name -> (dtype, shape)
Moment = Literal["before", "beside", "after"]  # all rounds, the clients' training, a combination


@dataclass(slots=True)
class Package:
    """What travels: plain data and tensors, without addresses."""

    meta: dict[str, Any] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)


def sample_count(package: Package) -> int:
    """The samples an update stands for, which weight it; Refused when it does not say."""
    samples = package.meta.get(SAMPLES)
    if type(samples) is not int or samples < 0:
        raise Refused("malformed", f"no sample count: {samples!r:.40}")
    return samples


@dataclass(slots=True)
class Work:
    """How a client trains in this round."""

    epochs: int
    rule: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)  # a rule's extras, besides the model
    steps: int = 0  # batches after which it ends; 0 is after all of the epochs
    rate_factor: float = 1.0  # times the scenario's learning rate of this round

    @property
    def more_samples(self) -> int:
        """How many samples it brings along, besides the trainer's own."""
        return len(self.tensors.get(EXTRA_LABELS, ()))


@dataclass(slots=True)
class Job:
    """One training of a round: what to train, and which servers get the result."""

    to: tuple[str, ...]
    model: Tensors
    work: Work


@dataclass(frozen=True)
class Facts:
    """What a server knows of its run, by the letters that the papers use."""

    clients: int = 1  # N
    sampled: int = 1  # S, of them in a round
    samples: int = 1  # n, at all clients together
    server_samples: int = 0  # n_0
    batch_size: int = 1  # B
    learning_rate: float = 1.0  # eta_l of the first round


class Server:
    """A server's side of a method, at the cloud or at an edge."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        self.settings = settings
        self.model = model
        self.samples = 0
        self.facts = Facts()  # both are set by the node, before the first round
        self.data: Tensors = {}  # the server's own samples, where the method sends them

    def update_shapes(self, model: Shapes) -> Shapes:
        """The tensors of an update: the model's, unless more comes with it."""
        return model

    def supply(self) -> Package | None:
        """What goes to every child once, before its first model."""
        return None

    def study(self, moment: Moment) -> Job | None:
        """What the server itself trains at that moment, on its own data."""
        return None

    def studied(self, moment: Moment, result: Result) -> None:
        """What came of it."""

    def receive(self, package: Package) -> None:
        """Take over the model that came from above, which stands for no sample here yet."""
        self.model, self.samples = package.tensors, 0

    def outgoing(self, child: str) -> Package:
        """What goes to this child at the start of a round."""
        raise NotImplementedError

    def add(self, child: str, package: Package) -> None:
        """Combine one update, or raise Refused; it must not be kept unless the method needs it."""
        raise NotImplementedError

    def finish(self) -> dict[str, Any]:
        """Make the new model of what was added; returns what the method decided, for the record."""
        raise NotImplementedError

    def nobody(self) -> dict[str, Any]:
        """Instead of `finish` when nothing was added: the model stays."""
        return {}

    def upward(self) -> Package:
        """What an edge sends to its parent after its last aggregation."""
        return Package({SAMPLES: self.samples}, self.model)


class Client:
    """A client's side of a method; what it keeps between rounds is its own state."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def jobs(self, heard: dict[str, Package]) -> list[Job]:
        """What to train in this round, by what came from each server heard; in this order."""
        return [
            Job((server,), package.tensors, self.work(package)) for server, package in heard.items()
        ]

    def supplied(self, package: Package) -> None:
        """Take what the server sends every client once."""

    def kept(self) -> Tensors:
        """What must survive a restart of this client: its state, as on a device's disk."""
        return {}

    def recall(self, kept: Tensors) -> None:
        """After a restart: the state from before."""

    def work(self, package: Package) -> Work:
        """How to train the model that arrived."""
        raise NotImplementedError

    def reply(self, package: Package, result: Result) -> Package:
        """What goes back to the parent."""
        return Package({SAMPLES: result.samples, LOSS: result.loss}, result.tensors)
