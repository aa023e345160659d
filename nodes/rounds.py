"""The rounds of a server: send a model to every child, combine their updates, within a deadline."""

from collections.abc import Callable

import zmq

from contracts.control import Keys
from contracts.events import Details, Phase
from contracts.messages import GLOBAL_ROUND, SENT_AT, Kind
from contracts.plan import NodeSpec, Plan
from nodes.compute import Computer
from nodes.control import Control
from nodes.devices import sleep_until
from nodes.joining import admit
from nodes.packing import PackedChildren
from nodes.recorder import Recorder, now
from nodes.serving.attendance import Attendance
from nodes.serving.claims import Claims
from nodes.serving.late_updates import LatePolicy, RoundFailed
from nodes.serving.membership import first_members
from nodes.serving.participation import Participation
from nodes.serving.round_log import RoundLog
from nodes.serving.sampling import drawn_children
from nodes.serving.server_training import ServerTraining
from nodes.serving.shared_data import SharedData
from nodes.transport import PORT, ServerEndpoint
from protocols.base import Package, Server
from protocols.wire import Expected, Message, Refused

_JOIN = frozenset({Kind.JOIN})


class RoundServer:
    """Runs the rounds of the cloud or of an edge among its children.

    Where clients come and go it also has the launcher's `control` line (docs/multicell.md has the
    rules). A server that was restarted `starts_empty`: its clients join it anew. The server trains
    by its `computer`, where the method has it do so.
    """

    takes_updates_between_rounds = False

    def __init__(
        self,
        spec: NodeSpec,
        plan: Plan,
        method: Server,
        recorder: Recorder,
        port: int = PORT,
        control: Control | None = None,
        starts_empty: bool = False,
        computer: Computer | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._spec, self._plan, self._method = spec, plan, method
        self.endpoint = ServerEndpoint(
            spec.name, plan.limits.message, self._on_refusal, port, keys, plan.moves
        )
        self._packing = PackedChildren.of(spec, plan)
        shapes = method.update_shapes(plan.tensors)
        self._shapes = self._packing.update_shapes(shapes) if self._packing else shapes
        self._log = RoundLog(spec.name, recorder)
        self._training = ServerTraining(method, computer, self._log)
        self._shared_data = SharedData(method, self.endpoint, self._log)
        self._claims = Claims(plan)
        self._late = LatePolicy(plan.limits)
        self._attendance = Attendance(
            () if starts_empty else first_members(spec, plan),
            self.endpoint,
            self._log,
            control,
            on_join=self._forget,
        )
        self._participation = Participation(method, plan, spec.name)
        self._received = 0  # bytes of updates in this round

    def admit(self) -> None:
        """Wait for the children to join, at most `limits.join`."""
        admit(self.endpoint, self._spec.children, now() + self._plan.limits.join)

    def await_return(
        self, children: list[str], given_up: Callable[[], bool] = lambda: False
    ) -> None:
        """After a restart, wait for the children that join anew, at most `limits.round`."""
        patience = self._plan.limits.round
        self._attendance.await_return(children, patience, self._expected(), given_up)

    def run(
        self, local_round: int, round: int, after_sending: Callable[[], None] = lambda: None
    ) -> None:
        """Run one local round among these children, in global round `round`.

        `after_sending` is called once the models are on their way: that is the place for work that
        must not delay anybody.
        """
        self._log.start_round(round, local_round)
        self._attendance.gather(self._patience(), self._expected())
        if local_round == 1:
            self._training.run("before")
        self._shared_data.send_to(self._attendance.names)
        start = now()
        reached = self._send_models()
        own_training = self._training.begin("beside")
        after_sending()
        arrivals = self._collect(reached, start + self._plan.limits.round)
        self._training.finish("beside", own_training)
        last = now()
        for child, arrived in arrivals.items():
            self._log.phase(child, Phase.WAIT, arrived, last)
        self._log.phase(self._spec.name, Phase.WAIT, start, last)
        self._aggregate(last, bool(arrivals))
        self._training.run("after")

    def handle_joins_and_departures(self) -> None:
        """Handle who has come and who has left between rounds, without waiting."""
        self._attendance.update(self._expected())

    def stop(self) -> None:
        """Tell the children that training is over, and close once that has left."""
        for child in self._attendance.names:
            try:
                self.endpoint.send(child, Message(Kind.STOP, self._spec.name, 0))
            except zmq.ZMQError:
                continue  # it left before us, as a quorum allows
        self.endpoint.close()

    def _patience(self) -> float:
        """Return how long to wait for a first client if there is none.

        An edge below a cloud does not wait, because the cloud waits for the edge; but where clients
        are away for a while, it does before its first local round of a global round.
        """
        limits = self._plan.limits
        if not self._spec.servers:
            return limits.round
        begun = (self._log.local_round - 1) % self._plan.settings.get("edge_rounds", 1)
        if self._plan.availability is None or begun:
            return 0
        return limits.patience or limits.round / 2

    def _send_models(self) -> set[str]:
        """Send the model to everybody in this round; return who could be reached."""
        names, local_round = self._attendance.names, self._log.local_round
        drawn = drawn_children(self._plan, self._spec.name, local_round, names)
        chosen = self._participation.chosen(local_round, names, drawn)
        self._attendance.start_round(chosen)
        reached = {child for child in chosen if self._send_model(child)}
        present = self._attendance.present
        if len(reached) < self._late.needed(present):
            counts = self._late.describe(len(reached), present)
            raise RoundFailed(f"round {self._log.global_round}: only {counts} can be reached")
        return reached

    def _send_model(self, child: str) -> bool:
        package = self._method.outgoing(child)
        if self._packing:
            package = self._packing.outgoing(child, self._log.local_round, package)
        meta = {**package.meta, GLOBAL_ROUND: self._log.global_round}
        message = Message(Kind.MODEL, self._spec.name, self._log.local_round, meta, package.tensors)
        self._participation.sent(child)
        try:
            self.endpoint.send(child, message)
        except zmq.ZMQError as error:
            self._forget(child)
            if not self._late.tolerates_losses and not self._attendance.changes:
                raise RoundFailed(f"cannot reach {child}: {error}") from error
            self._log.note(child, Phase.UNREACHABLE)
            self._attendance.unreachable(child)
            return False
        return True

    def _collect(self, missing: set[str], deadline: float) -> dict[str, float]:
        """Combine updates as they arrive, until none is missing; return when each one came."""
        expected = self._expected()
        arrivals: dict[str, float] = {}
        self._received = 0
        self._attendance.await_updates(missing)
        while missing:
            message = self._attendance.next_message(deadline, expected)
            if message is None:
                if now() < deadline:
                    continue
                if self._goes_on(missing, len(arrivals)):
                    break
                deadline = now() + self._plan.limits.round
            elif message.kind == Kind.JOIN:
                self._attendance.let_in(message)
            elif message.sender in missing:  # a second update from one child never counts
                arrived = now()
                if self._accept(message, arrived):
                    missing.discard(message.sender)
                    arrivals[message.sender] = arrived
        self._attendance.stop_awaiting()
        return arrivals

    def _accept(self, message: Message, arrived: float, answers: int | None = None) -> bool:
        """Combine and record an update; False if it is refused.

        `answers` is recorded where an update may answer the model of an earlier round.
        """
        size = sum(t.nbytes for t in message.tensors.values())
        package, to_unpack = Package(message.meta, message.tensors), 0
        try:
            self._claims.check(message.sender, message.meta, self._shared_data.samples)
            if self._packing:
                package.tensors = self._packing.incoming(message.sender, package.tensors)
                to_unpack = self._packing.bytes_moved(package.tensors)
            self._method.add(message.sender, package)
        except Refused as refusal:
            self.endpoint.refuse(message.sender, refusal)
            return False
        self._participation.arrived(message.sender, arrived, package)
        self._received += size + to_unpack
        details: Details = {"peer": self._spec.name, "bytes": size}
        if answers is not None:
            details["answers"] = answers
        sent = message.meta[SENT_AT]
        self._log.phase(message.sender, Phase.UPLOAD, sent, arrived, **details)
        return True

    def _goes_on(self, missing: set[str], arrived: int) -> bool:
        """Record that the deadline has passed, and do as the scenario says."""
        self._log.note(self._spec.name, Phase.DEADLINE, missing=sorted(missing))
        present = self._attendance.present
        return self._late.goes_on(self._log.global_round, missing, arrived, present)

    def _aggregate(self, start: float, any_update: bool) -> None:
        """Make the new model, in the time that the server's memory takes to read the updates."""
        decisions = self._method.finish() if any_update else self._method.no_updates()
        sleep_until(start + self._received / self._spec.memory_bytes_per_second)
        self._log.phase(self._spec.name, Phase.AGGREGATE, start, now(), **decisions)

    def _expected(self) -> Expected:
        """What may arrive in this local round: updates, and joins where clients come and go."""
        return Expected(
            kinds=frozenset({Kind.UPDATE}),
            local_round=self._log.local_round,
            shapes=self._shapes,
            max_bytes=self._plan.limits.message,
            plain=_JOIN if self._attendance.changes else frozenset(),
        )

    def _forget(self, child: str) -> None:
        """The child has nothing of what it was sent before: it joined anew, or is not there."""
        self._shared_data.forget(child)
        if self._packing:
            self._packing.forget(child)

    def _on_refusal(self, sender: str, refusal: Refused) -> None:
        self._log.note(self._spec.name, Phase.REFUSED, peer=sender, reason=refusal.reason)
