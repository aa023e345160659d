"""A node's dealings with its parent: join, receive models, send updates."""

from contracts.events import Phase
from contracts.messages import GLOBAL_ROUND, HOLDS, REASON, SENT_AT, SINCE, Kind
from contracts.plan import NodeSpec, Plan
from nodes.recorder import Recorder, now
from nodes.transport import PORT, ClientEndpoint
from protocols.base import Package
from protocols.wire import Expected, Message, Refused

# What each is called on the record.
_DOWNLOADS = {Kind.MODEL: Phase.DOWNLOAD, Kind.DATA: Phase.SUPPLY}


class UpdateRefused(Exception):
    """The parent did not accept what this node sent."""


class ParentLost(Exception):
    """Nothing came from the parent for longer than a round may take."""


class Parent:
    """A link upwards of a client or an edge: to its own server, or to another that it hears."""

    def __init__(
        self,
        spec: NodeSpec,
        plan: Plan,
        recorder: Recorder,
        port: int = PORT,
        server: tuple[str, str] | None = None,
    ) -> None:
        self._spec, self._plan, self._recorder = spec, plan, recorder
        self.name, address = server or spec.servers[0]
        self.endpoint = ClientEndpoint(
            spec.name, self.name, address, plan.limits.message, self._on_refusal, port
        )
        self._expected = Expected(
            kinds=frozenset({Kind.MODEL, Kind.DATA, Kind.STOP, Kind.REFUSED, Kind.WELCOME}),
            max_bytes=plan.limits.message,
        )

    def join(self) -> None:
        """Join and wait for the welcome, as long as limits.join allows."""
        self.endpoint.join(now() + self._plan.limits.join)

    def ask_to_join(self, since: int, holds: int) -> None:
        """Without waiting for the welcome; `holds` is the local round it still has an update of."""
        meta = {SINCE: since, HOLDS: holds}
        self.endpoint.send(Message(Kind.JOIN, self._spec.name, 0, meta))

    def deadline(self) -> float:
        """A parent may itself wait a whole round for others before it sends again."""
        return now() + self._plan.limits.join + 2 * self._plan.limits.round

    def next_model(self) -> Message | None:
        """The next model; None when training is over."""
        deadline = self.deadline()
        while True:
            message = self.hear(deadline)
            if message is not None and message.kind in (Kind.MODEL, Kind.STOP):
                return message if message.kind == Kind.MODEL else None
            if now() >= deadline:
                deadline = self.patience_is_over()

    def patience_is_over(self) -> float:
        """At a deadline: a new one where the scenario says to wait, else ParentLost."""
        if self._plan.limits.late != "wait":
            raise ParentLost(f"nothing came from {self.name} for longer than a round")
        return self.deadline()

    def hear(self, deadline: float) -> Message | None:
        """A model or data (each download on the record), welcome or stop; None if nothing came."""
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
        return message

    def send_update(self, local_round: int, package: Package) -> None:
        """Send the result of a local round."""
        self.endpoint.send(
            Message(Kind.UPDATE, self._spec.name, local_round, dict(package.meta), package.tensors)
        )

    def close(self, abandon: bool = False) -> None:
        """Close the connection; what is still under way is dropped with `abandon`."""
        self.endpoint.close(abandon)

    def _on_being_refused(self, reason: str) -> None:
        """An update that came too late is only noted: the parent went on without it."""
        if reason != "round":
            raise UpdateRefused(f"{self.name} refused an update of this node: {reason}")
        self._recorder.note(self._spec.name, Phase.LATE, 0, peer=self.name)

    def _on_refusal(self, sender: str, refusal: Refused) -> None:
        self._recorder.note(self._spec.name, Phase.REFUSED, 0, peer=sender, reason=refusal.reason)
