"""A child's link to one server above it: join, receive models, send updates."""

from contracts.control import Keys
from contracts.events import Phase
from contracts.messages import GLOBAL_ROUND, REASON, SENT_AT, Kind
from contracts.plan import NodeSpec, Plan
from nodes.joining import JoinDuringRun, ask_to_join, join
from nodes.packing import PackedServer
from nodes.recorder import Recorder, now
from nodes.transport import PORT, ClientEndpoint
from protocols.base import Package
from protocols.wire import Expected, Message, Refused

# The phase under which the arrival of each kind is recorded.
_DOWNLOADS = {Kind.MODEL: Phase.DOWNLOAD, Kind.DATA: Phase.SUPPLY}


class UpdateRefused(Exception):
    """The parent did not accept what this node sent."""


class ParentLost(Exception):
    """Nothing came from the parent for longer than a round may take."""


class Parent:
    """The link from a client or an edge to its own server, or to another one that it hears."""

    def __init__(
        self,
        spec: NodeSpec,
        plan: Plan,
        recorder: Recorder,
        port: int = PORT,
        server: tuple[str, str] | None = None,
        keys: Keys | None = None,
        packing: PackedServer | None = None,
    ) -> None:
        self._spec, self._plan, self._recorder = spec, plan, recorder
        self.name, address = server or spec.servers[0]
        self._packing = packing or PackedServer.of(spec, self.name, plan)
        self.endpoint = ClientEndpoint(
            spec.name, self.name, address, plan.limits.message, self._on_refusal, port, keys
        )
        self._expected = Expected(
            kinds=frozenset({Kind.MODEL, Kind.DATA, Kind.STOP, Kind.REFUSED, Kind.WELCOME}),
            max_bytes=plan.limits.message,
        )

    def join(self) -> None:
        """Join at the start, and wait for the welcome as long as limits.join allows."""
        join(self.endpoint, now() + self._plan.limits.join)

    def join_during_run(self, since: int, holds: int) -> None:
        """Join while the run goes on, without waiting for the welcome.

        `since` is the number of the change that brought the client here, and `holds` the local
        round whose update it still has for this server, 0 for none.
        """
        ask_to_join(self.endpoint, JoinDuringRun(since, holds))

    def deadline(self) -> float:
        """Return until when to wait: a parent may itself wait a whole round for others."""
        return now() + self._plan.limits.join + 2 * self._plan.limits.round

    def next_model(self) -> Message | None:
        """Wait for the next model; None when training is over."""
        deadline = self.deadline()
        while True:
            message = self.receive(deadline)
            if message is not None and message.kind in (Kind.MODEL, Kind.STOP):
                return message if message.kind == Kind.MODEL else None
            if now() >= deadline:
                deadline = self.extend_deadline()

    def extend_deadline(self) -> float:
        """At a deadline, return a new one if the scenario says to wait; else raise ParentLost."""
        if self._plan.limits.late != "wait":
            raise ParentLost(f"nothing came from {self.name} for longer than a round")
        return self.deadline()

    def receive(self, deadline: float) -> Message | None:
        """Wait for a model, data, a welcome or a stop; None if there was none by the deadline.

        Models and data are recorded as downloads.
        """
        message = self.endpoint.receive(deadline, self._expected)
        if message is None:
            return None
        if message.kind == Kind.REFUSED:
            self._on_being_refused(str(message.meta.get(REASON)))
            return None
        if message.kind in _DOWNLOADS:
            self._recorder.phase(
                self._spec.name,
                _DOWNLOADS[Kind(message.kind)],
                message.meta[SENT_AT],
                now(),
                message.meta[GLOBAL_ROUND],
                local_round=message.local_round,
                peer=self.name,
                bytes=sum(t.nbytes for t in message.tensors.values()),
            )
        if self._packing and message.kind == Kind.MODEL:
            self._packing.unpack(message)
        return message

    def send_update(self, local_round: int, package: Package) -> None:
        """Send the result of a local round."""
        tensors, name = package.tensors, self._spec.name
        if self._packing:
            tensors = self._packing.packed(local_round, tensors)
        self.endpoint.send(Message(Kind.UPDATE, name, local_round, dict(package.meta), tensors))

    def close(self, abandon: bool = False) -> None:
        """Close the connection; with `abandon`, what is still under way is dropped."""
        self.endpoint.close(abandon)

    def _on_being_refused(self, reason: str) -> None:
        """Only record that an update came too late, since the parent went on without it."""
        if reason != "round":
            raise UpdateRefused(f"{self.name} refused an update of this node: {reason}")
        self._recorder.note(self._spec.name, Phase.LATE, 0, peer=self.name)

    def _on_refusal(self, sender: str, refusal: Refused) -> None:
        self._recorder.note(self._spec.name, Phase.REFUSED, 0, peer=sender, reason=refusal.reason)
