"""One round at a server: send to every child, combine what comes back, within the deadline."""

from collections.abc import Callable
from math import ceil

import zmq

from nodes.compute import sleep_until
from nodes.phases import Recorder, now
from nodes.transport import PORT, ServerEndpoint
from protocols.base import Package, Server
from protocols.wire import Expected, Message, Refused
from scenarios.plan import NodeSpec, Plan


class RoundFailed(Exception):
    """A round could not be completed as the scenario demands."""


class RoundServer:
    """The cloud's or an edge's dealings with its children."""

    def __init__(
        self, spec: NodeSpec, plan: Plan, method: Server, recorder: Recorder, port: int = PORT
    ) -> None:
        self._spec, self._plan = spec, plan
        self._method, self._recorder = method, recorder
        self.endpoint = ServerEndpoint(spec.name, plan.limits["message"], self._on_refusal, port)
        self._round = 0
        share = plan.limits["quorum"] if plan.limits["late"] == "quorum" else 1.0
        # Less a trifle: 0.07 of 100 is 7.000000000000001 in floating point.
        self._wanted = max(1, ceil(share * len(spec.children) - 1e-9))

    def admit(self) -> None:
        """Wait for the children to join."""
        self.endpoint.admit(self._spec.children, now() + self._plan.limits["join"])

    def run(self, number: int, round: int, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Round `number` among these children, in global iteration `round`.

        `meanwhile` is called once the models are on their way: the place for what must not delay
        anybody.
        """
        self._round = round
        start = now()
        reached = {child for child in self._spec.children if self._send(child, number)}
        if len(reached) < self._wanted:
            raise RoundFailed(f"round {round}: only {self._count(len(reached))} can be reached")
        meanwhile()
        arrivals = self._collect(reached, number, start + self._plan.limits["round"])
        last = now()
        for child, arrived in arrivals.items():
            self._recorder.phase(child, "wait", arrived, last, round, number=number)
        self._recorder.phase(self._spec.name, "wait", start, last, round, number=number)
        decisions = self._method.finish()
        moved = len(arrivals) * sum(t.nbytes for t in self._method.model.values())
        sleep_until(last + moved / self._spec.memory_bytes_per_second)
        self._recorder.phase(
            self._spec.name, "aggregate", last, now(), round, number=number, **decisions
        )

    def stop(self) -> None:
        """Tell the children that training is over, and close once that has left."""
        for child in self._spec.children:
            try:
                self.endpoint.send(child, Message("stop", self._spec.name, 0))
            except zmq.ZMQError:
                continue  # it left before us, as a quorum allows
        self.endpoint.close()

    def _send(self, child: str, number: int) -> bool:
        package = self._method.outgoing(child)
        meta = {**package.meta, "iteration": self._round}
        message = Message("model", self._spec.name, number, meta, package.tensors)
        try:
            self.endpoint.send(child, message)
        except zmq.ZMQError as error:
            if self._plan.limits["late"] != "quorum":
                raise RoundFailed(f"cannot reach {child}: {error}") from error
            self._recorder.note(child, "unreachable", self._round)
            return False
        return True

    def _collect(self, missing: set[str], number: int, deadline: float) -> dict[str, float]:
        """Updates as they arrive, each combined at once; returns when each one came."""
        expected = Expected(
            kinds=frozenset({"update"}),
            round=number,
            shapes=self._plan.tensors,
            max_bytes=self._plan.limits["message"],
        )
        arrivals: dict[str, float] = {}
        while missing:
            message = self.endpoint.receive(deadline, expected)
            if message is None:
                if self._go_on(missing, len(arrivals)):
                    break
                deadline = now() + self._plan.limits["round"]
                continue
            if message.sender not in missing:
                continue  # a second update from the same child never counts twice
            arrived = now()
            try:
                self._method.add(message.sender, Package(message.meta, message.tensors))
            except Refused as refusal:
                self.endpoint.refuse(message.sender, refusal)
                continue
            missing.discard(message.sender)
            arrivals[message.sender] = arrived
            self._recorder.phase(
                message.sender,
                "upload",
                message.meta["sent_at"],
                arrived,
                self._round,
                number=number,
                peer=self._spec.name,
                bytes=sum(t.nbytes for t in message.tensors.values()),
            )
        return arrivals

    def _go_on(self, missing: set[str], arrived: int) -> bool:
        """At the deadline: go on with a quorum, wait once more, or give up: the scenario says."""
        late, few = self._plan.limits["late"], ", ".join(sorted(missing)[:5])
        self._recorder.note(self._spec.name, "deadline", self._round, missing=sorted(missing))
        if late == "quorum" and arrived >= self._wanted:
            return True
        if late == "wait":
            return False
        raise RoundFailed(
            f"round {self._round}: no update from {few} within {self._plan.limits['round']:g} s "
            f"({self._count(arrived)}); raise limits.round, or set limits.late"
        )

    def _count(self, number: int) -> str:
        return f"{number} of {len(self._spec.children)}, {self._wanted} wanted"

    def _on_refusal(self, sender: str, refusal: Refused) -> None:
        self._recorder.note(
            self._spec.name, "refused", self._round, peer=sender, reason=refusal.reason
        )
