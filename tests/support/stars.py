"""A cloud and its clients over real sockets, all in the test's own process."""

import dataclasses
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any

import numpy as np
import zmq

from contracts.control import Events
from contracts.events import EventFields, Phase
from contracts.plan import NodeSpec, Plan
from nodes.control import Control
from nodes.parent import Parent
from nodes.recorder import Recorder
from nodes.rounds import RoundServer
from protocols import fedavg
from protocols.base import Package
from protocols.wire import Message
from tests.support.lines import PATIENCE, aside, free_port
from tests.support.scenario_trees import TENSORS, planned, star_scenario


def model(value: float) -> dict[str, np.ndarray]:
    return {name: np.full(shape, value, dtype) for name, (dtype, shape) in TENSORS.items()}


def local_nodes(plan: Plan, samples: Sequence[int] = ()) -> tuple[NodeSpec, ...]:
    """Return the nodes as processes of this machine, the clients with so many samples, or 10."""
    numbers = chain(samples, repeat(10))
    return tuple(
        dataclasses.replace(
            node,
            parent_address=node.parent and "127.0.0.1",
            samples=next(numbers) if node.role == "client" else node.samples,
        )
        for node in plan.nodes
    )


class Listener:
    """A recorder whose events a test can read."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.recorder = Recorder(Control(ours))
        self._control = Control(theirs)

    def events(self, phase: str | None = None) -> list[EventFields]:
        self.recorder.note("test", Phase.RESTORED, 0)  # so that there is something to flush
        self.recorder.flush()
        events: list[EventFields] = []
        for said in self._control.read():
            assert isinstance(said, Events)
            events += said.events
        return [event for event in events if phase in (None, event["phase"])]


class Star:
    """A cloud's server and its clients' connections, all in this process."""

    def __init__(self, clients: int, samples: Sequence[int] = (), **limits: Any) -> None:
        limits = {"join": "5s", "round": "5s", **limits}
        plan = planned(star_scenario(clients=clients, limits=limits))
        self.plan: Plan = dataclasses.replace(plan, nodes=local_nodes(plan, samples))
        self.port = free_port()
        self.listener = Listener()
        self.method = fedavg.Server(fedavg.Settings(rounds=1), model(0))
        cloud = self.plan.node("cloud")
        self.server = RoundServer(cloud, self.plan, self.method, self.listener.recorder, self.port)
        self.parents: dict[str, Parent] = {}

    def join(self, *names: str) -> None:
        for name in names:
            listener = Listener()
            spec = self.plan.node(name)
            self.parents[name] = Parent(spec, self.plan, listener.recorder, self.port)
        joining = [aside(parent.join) for parent in self.parents.values()]
        self.server.admit()
        for future in joining:
            future.result(PATIENCE)

    def answer(self, name: str, value: float, samples: Any = 10) -> Message:
        """Have a client take the next model and answer at once."""
        message = self.parents[name].next_model()
        assert message is not None
        self.parents[name].send_update(
            message.local_round, Package({"samples": samples}, model(value))
        )
        return message

    def close(self) -> None:
        for endpoint in (self.server.endpoint, *(p.endpoint for p in self.parents.values())):
            if not endpoint._socket.closed:
                endpoint._socket.setsockopt(zmq.LINGER, 0)
                endpoint.close()


Build = Callable[..., Star]


@contextmanager
def stars() -> Iterator[Build]:
    """Yield a function that makes stars; they are all closed at the end."""
    made: list[Star] = []

    def one(clients: int, **options: Any) -> Star:
        made.append(Star(clients, **options))
        return made[-1]

    yield one
    for star in made:
        star.close()
