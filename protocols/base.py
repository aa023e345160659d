"""What a method decides at each role. Nodes do the sending; nothing here knows of sockets.

One round at a server (the cloud, or an edge among its clients):
`outgoing` for every child, `add` for every update as it arrives, `finish` when all are in.
An edge also has `receive` (the model from above) and `upward` (its aggregate, when done).
One round at a client: `work` says how to train what arrived, `reply` what to send back. A client
that hears several servers has `jobs`.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.seam import Result
from protocols.wire import Refused

Tensors = dict[str, np.ndarray]


@dataclass(slots=True)
class Package:
    """What travels: plain data and tensors, without addresses."""

    meta: dict[str, Any] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)


def sample_count(package: Package) -> int:
    """The samples an update stands for, which weight it; Refused when it does not say."""
    samples = package.meta.get("samples")
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


@dataclass(slots=True)
class Job:
    """One training of a round: what to train, and which servers get the result."""

    to: tuple[str, ...]
    model: Tensors
    work: Work


class Server:
    """A server's side of a method, at the cloud or at an edge."""

    def __init__(self, settings: Any, model: Tensors) -> None:
        self.settings = settings
        self.model = model
        self.samples = 0

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
        return Package({"samples": self.samples}, self.model)


class Client:
    """A client's side of a method; what it keeps between rounds is its own state."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def jobs(self, heard: dict[str, Package]) -> list[Job]:
        """What to train in this round, by what came from each server heard; in this order."""
        return [
            Job((server,), package.tensors, self.work(package)) for server, package in heard.items()
        ]

    def work(self, package: Package) -> Work:
        """How to train the model that arrived."""
        raise NotImplementedError

    def reply(self, package: Package, result: Result) -> Package:
        """What goes back to the parent."""
        return Package({"samples": result.samples, "loss": result.loss}, result.tensors)
