"""One round at a server: send to every child, combine what comes back, within the deadline."""

import contextlib
import random
from collections.abc import Callable
from math import ceil
from typing import Unpack

import zmq

from contracts.control import Left
from contracts.events import Details, Phase
from contracts.messages import GLOBAL_ROUND, HOLDS, SENT_AT, SINCE, WANTED, Kind
from contracts.plan import NodeSpec, Plan
from nodes.compute import Computer, Running, sleep_until
from nodes.control import Control
from nodes.membership import Members
from nodes.recorder import Recorder, now
from nodes.transport import PORT, ServerEndpoint, first_to_hear
from protocols.base import Moment, Package, Server
from protocols.wire import Expected, Message, Refused

_JOIN = frozenset({Kind.JOIN})


class RoundFailed(Exception):
    """A round could not be completed as the scenario demands."""


def quorum(share: float, present: int) -> int:
    """That share of them in whole children, and at least one where there is one."""
    # Less a trifle: 0.07 of 100 is 7.000000000000001 in floating point.
    return max(min(present, 1), ceil(share * present - 1e-9))


class RoundServer:
    """The cloud's or an edge's dealings with its children.

    Where clients come and go it also has the launcher's `control` line: docs/multicell.md has the
    rules. `deserted`: nobody is there at first, because this server was restarted. `computer`: by
    which it trains itself, where the method has it do so.
    """

    def __init__(
        self,
        spec: NodeSpec,
        plan: Plan,
        method: Server,
        recorder: Recorder,
        port: int = PORT,
        control: Control | None = None,
        deserted: bool = False,
        computer: Computer | None = None,
    ) -> None:
        self._spec, self._plan = spec, plan
        self._method, self._recorder = method, recorder
        self._control, self._computer = control, computer
        self.endpoint = ServerEndpoint(spec.name, plan.limits.message, self._on_refusal, port)
        self._shapes = method.update_shapes(plan.tensors)
        self._members = Members(() if deserted else spec.children)
        self._round = self._local_round = 0
        self._supplied: set[str] = set()  # who has been sent what everybody gets once
        self._present: set[str] = set()  # who was sent the model and has not left since
        self._missing: set[str] = set()  # whose updates are waited for
        self._gone: set[str] = set()  # who left while its update was
        self._received = 0  # bytes of updates in this round

    def admit(self) -> None:
        """Wait for the children to join."""
        self.endpoint.admit(self._spec.children, now() + self._plan.limits.join)

    def run(
        self, local_round: int, round: int, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """One local round among these children, in global round `round`.

        `meanwhile` is called once the models are on their way: the place for what must not delay
        anybody.
        """
        self._round, self._local_round = round, local_round
        if self._control is not None:
            self._gather(self._control)
        if local_round == 1:
            self._study("before")
        self._supply()
        start = now()
        chosen = self._chosen()
        self._present = set(chosen)
        reached = {child for child in chosen if self._send(child)}
        if len(reached) < self._wanted():
            raise RoundFailed(f"round {round}: only {self._count(len(reached))} can be reached")
        studying = self._begin_study("beside")
        meanwhile()
        arrivals = self._collect(reached, start + self._plan.limits.round)
        self._end_study("beside", studying)
        last = now()
        for child, arrived in arrivals.items():
            self._recorder.phase(child, Phase.WAIT, arrived, last, round, local_round=local_round)
        self._recorder.phase(
            self._spec.name, Phase.WAIT, start, last, round, local_round=local_round
        )
        decisions = self._method.finish() if arrivals else self._method.no_updates()
        sleep_until(last + self._received / self._spec.memory_bytes_per_second)
        self._recorder.phase(
            self._spec.name,
            Phase.AGGREGATE,
            last,
            now(),
            round,
            local_round=local_round,
            **decisions,
        )
        self._study("after")

    def stop(self) -> None:
        """Tell the children that training is over, and close once that has left."""
        for child in self._members.names:
            try:
                self.endpoint.send(child, Message(Kind.STOP, self._spec.name, 0))
            except zmq.ZMQError:
                continue  # it left before us, as a quorum allows
        self.endpoint.close()

    def _chosen(self) -> list[str]:
        """Who takes part: all, or as many clients as the method draws for a round."""
        names, sampled = self._members.names, self._plan.settings.get("clients_per_round", 0)
        if not 0 < sampled < len(names) or self._plan.node(names[0]).role != "client":
            return names
        draw = random.Random(f"{self._plan.seed}/{self._spec.name}/{self._local_round}")
        chosen = set(draw.sample(sorted(names), sampled))
        return [name for name in names if name in chosen]

    def _supply(self) -> None:
        """To everybody who has not had it, ahead of the models on the same links."""
        new = [name for name in self._members.names if name not in self._supplied]
        package = self._method.data_to_share() if new else None
        if package is None:
            return
        for child in new:
            meta = {**package.meta, GLOBAL_ROUND: self._round}
            message = Message(Kind.DATA, self._spec.name, self._local_round, meta, package.tensors)
            with contextlib.suppress(zmq.ZMQError):  # gone: the model will say so
                self.endpoint.send(child, message)
                self._supplied.add(child)

    def _study(self, moment: Moment) -> None:
        self._end_study(moment, self._begin_study(moment))

    def _begin_study(self, moment: Moment) -> Running | None:
        """The server's own training, on its own device's time."""
        job = self._method.server_job(moment)
        if job is None:
            return None
        assert self._computer is not None, "a server without data of its own cannot train"
        return self._computer.begin(job, self._local_round, moment)

    def _end_study(self, moment: Moment, running: Running | None) -> None:
        if running is None:
            return
        result, timing = running.collect()
        self._method.server_trained(moment, result)
        end = running.start + timing["modelled"] + timing["overrun"]
        self._recorder.phase(
            self._spec.name,
            Phase.COMPUTE,
            running.start,
            end,
            self._round,
            local_round=self._local_round,
            moment=moment,
            **timing,
        )

    def _wanted(self) -> int:
        """How many of those present the round needs."""
        limits = self._plan.limits
        share = limits.quorum if limits.late == "quorum" else 1.0
        return quorum(share, len(self._present))

    def _send(self, child: str) -> bool:
        package = self._method.outgoing(child)
        meta = {**package.meta, GLOBAL_ROUND: self._round}
        message = Message(Kind.MODEL, self._spec.name, self._local_round, meta, package.tensors)
        try:
            self.endpoint.send(child, message)
        except zmq.ZMQError as error:
            if self._plan.limits.late != "quorum" and self._control is None:
                raise RoundFailed(f"cannot reach {child}: {error}") from error
            self._recorder.note(child, Phase.UNREACHABLE, self._round)
            if self._control is not None:
                self._present.discard(child)  # it has gone, and word of it is on its way
            return False
        return True

    def _collect(self, missing: set[str], deadline: float) -> dict[str, float]:
        """Updates as they arrive, each combined at once; returns when each one came."""
        expected = self._expected()
        arrivals: dict[str, float] = {}
        self._received = 0
        self._missing, self._gone = missing, set()
        while missing:
            message = self._next(deadline, expected)
            if message is None:
                if now() < deadline:
                    continue
                if self._go_on(missing, len(arrivals)):
                    break
                deadline = now() + self._plan.limits.round
                continue
            if message.kind == Kind.JOIN:
                self._welcome(message)
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
            size = sum(t.nbytes for t in message.tensors.values())
            self._received += size
            self._recorder.phase(
                message.sender,
                Phase.UPLOAD,
                message.meta[SENT_AT],
                arrived,
                self._round,
                local_round=self._local_round,
                peer=self._spec.name,
                bytes=size,
            )
        self._missing = set()
        return arrivals

    def _expected(self) -> Expected:
        return Expected(
            kinds=frozenset({Kind.UPDATE}),
            local_round=self._local_round,
            shapes=self._shapes,
            max_bytes=self._plan.limits.message,
            plain=_JOIN if self._control else frozenset(),
        )

    def _next(self, deadline: float, expected: Expected) -> Message | None:
        """The next message; None at the deadline, and when somebody has left."""
        if self._control is None:
            return self.endpoint.receive(deadline, expected)
        first = first_to_hear((self.endpoint,), deadline, self._control)
        if first is self._control:
            self._take_in(self._control)
        return self.endpoint.receive(now(), expected) if first is self.endpoint else None

    def _gather(self, control: Control) -> None:
        """Who is in this round: all that have joined and not left.

        A cell that is empty waits for somebody, unless somebody waits for it.
        """
        start, patient = now(), not self._spec.servers
        deadline = start + (self._plan.limits.round if patient else 0)
        self.attend()
        empty = not self._members
        while not self._members and now() < deadline:
            first_to_hear((self.endpoint,), deadline, control)
            self.attend()
        if empty:
            self._note(self._spec.name, Phase.EMPTY, since=start)
        self._note(self._spec.name, Phase.MEMBERS, members=self._members.names)

    def attend(self) -> None:
        """Take in who has come and who has left, without waiting."""
        if self._control is None:
            return
        self._take_in(self._control)
        expected = self._expected()  # an update of another round is told it is late
        while self.endpoint.has_message():
            message = self.endpoint.receive(now(), expected)
            if message is not None and message.kind == Kind.JOIN:
                self._welcome(message)

    def _take_in(self, control: Control) -> None:
        """Who has left, as the launcher tells."""
        for order in control.waiting():
            if not isinstance(order, Left) or not self._members.leave(order.client, order.since):
                continue
            name = order.client
            self._present.discard(name)
            if name in self._missing:
                self._missing.discard(name)
                self._gone.add(name)
                self._note(name, Phase.ABANDONED, peer=self._spec.name)

    def _welcome(self, message: Message) -> None:
        """A client joins: for the next round, or for this one if it brings back an update of it."""
        if self._control is not None:
            self._take_in(self._control)  # it may have left before
        name, since, holds = message.sender, message.meta.get(SINCE), message.meta.get(HOLDS)
        if type(since) is not int or not self._members.enter(name, since):
            return
        self._supplied.discard(name)  # it may have been restarted, and then has nothing
        returns = name in self._gone and holds == self._local_round
        if returns:
            self._gone.discard(name)
            self._missing.add(name)
            self._present.add(name)
        meta = {WANTED: self._local_round if returns else 0}
        with contextlib.suppress(zmq.ZMQError):  # gone again
            self.endpoint.send(name, Message(Kind.WELCOME, self._spec.name, 0, meta))

    def _go_on(self, missing: set[str], arrived: int) -> bool:
        """At the deadline: go on with a quorum, wait once more, or give up: the scenario says."""
        late, few = self._plan.limits.late, ", ".join(sorted(missing)[:5])
        self._recorder.note(self._spec.name, Phase.DEADLINE, self._round, missing=sorted(missing))
        if late == "quorum" and arrived >= self._wanted():
            return True
        if late == "wait":
            return False
        raise RoundFailed(
            f"round {self._round}: no update from {few} within {self._plan.limits.round:g} s "
            f"({self._count(arrived)}); raise limits.round, or set limits.late"
        )

    def _count(self, arrived: int) -> str:
        return f"{arrived} of {len(self._present)}, {self._wanted()} wanted"

    def _note(
        self, node: str, what: Phase, since: float | None = None, **details: Unpack[Details]
    ) -> None:
        start = now() if since is None else since
        noted: Details = {"local_round": self._local_round, **details}
        self._recorder.phase(node, what, start, now(), self._round, **noted)

    def _on_refusal(self, sender: str, refusal: Refused) -> None:
        self._recorder.note(
            self._spec.name, Phase.REFUSED, self._round, peer=sender, reason=refusal.reason
        )
