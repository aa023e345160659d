"""The servers that a client hears: those of the plan at first, then as they change.

docs/multicell.md has the rules. The launcher reports changes over the control line, just as a
phone's radio tells its programs. They are handled between trainings, never during one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Unpack

from contracts.control import Cells, Stop
from contracts.events import Details, Phase
from contracts.messages import GLOBAL_ROUND, WANTED, Kind
from contracts.plan import Plan
from nodes.node_process import NodeContext
from nodes.packing import PackedServer
from nodes.parent import Parent
from nodes.recorder import now
from nodes.transport import first_with_message
from protocols import registry
from protocols.base import Package
from protocols.wire import Message

_FOR_EVER = 1e9  # seconds: the launcher ends whoever waits for nothing


@dataclass
class ServerConnection:
    """A connection to a server that the client hears now, and how far the client is with it."""

    parent: Parent
    heard_since: float  # when the client was told that it hears the server
    welcomed: bool
    member: bool  # it has sent a model: from then on its next one is waited for
    stage: str = "waiting"  # then "training", then "sent"


@dataclass
class LastUpdate:
    """The last update for a server, kept in case it must be sent again."""

    local_round: int
    update: Package | None  # None while it is being trained
    sent: bool = False


class ClientServers:
    """A client's connections to all servers that it hears.

    Joins and leaves servers as they change, waits until the models of all of them have come, and
    sends the updates back. `on_data` is called with data that a server shares.
    """

    def __init__(self, context: NodeContext, on_data: Callable[[Package], None]) -> None:
        self._context, self._plan = context, context.plan
        self._on_data = on_data
        self._spec, self._recorder = context.spec, context.recorder
        self._addresses = dict((*context.spec.servers, *context.spec.visits))
        self._connections: dict[str, ServerConnection] = {}
        self._models: dict[str, Message] = {}  # arrived, and wait for those of other servers
        self._updates: dict[str, LastUpdate] = {}
        self._round = 0  # the last global round heard of
        self._longest_wait = _longest_wait(self._plan)
        self._waits_since = now()
        self._over = False
        self._packing: dict[str, PackedServer | None] = {}

    def begin(self) -> None:
        """Join the plan's servers; a restarted client is told later which ones it hears."""
        if self._context.restarted:
            return
        for name in dict(self._spec.servers):
            self._connections[name] = ServerConnection(
                self._open(name), now(), welcomed=True, member=True
            )
        for connection in self._connections.values():
            connection.parent.join()

    def next_models(self) -> dict[str, Message]:
        """Wait for the next model of every server; empty when training is over.

        Servers that have not sent a model before are not waited for, and none for longer than the
        scenario's patience once a first model is there.
        """
        self._waits_since, patience_ends = now(), _FOR_EVER
        while True:
            self._apply_orders()
            if not self._models:
                patience_ends = _FOR_EVER  # the model that came may have been dropped again
            if self._over or not (self._connections or self._plan.moves):
                return {}
            silent = [c for name, c in self._connections.items() if name not in self._models]
            if self._models and (now() >= patience_ends or not any(c.member for c in silent)):
                return self._take_models()
            deadline = self._waits_since + self._longest_wait if silent else _FOR_EVER
            if now() >= deadline:
                silent[0].parent.extend_deadline()
                self._waits_since = now()
            self._receive_one(silent, min(patience_ends, deadline))
            if self._models and patience_ends == _FOR_EVER:
                patience_ends = now() + self._patience()

    def hears_any(self, names: Iterable[str]) -> bool:
        """Tell whether one of these servers is still heard; if not, drop their updates."""
        self._apply_orders()
        if any(name in self._connections for name in names):
            return True
        for name in names:
            self._updates.pop(name, None)
        return False

    def send(self, name: str, local_round: int, update: Package) -> None:
        """Send an update; keep it for a return in time if the server is not heard now."""
        self._apply_orders()
        last = self._updates[name] = LastUpdate(local_round, update)
        connection = self._connections.get(name)
        if connection is not None and connection.welcomed:
            self._send(connection, last)
        if not self._plan.moves:
            del self._updates[name]

    def close(self) -> None:
        """Close the connections to all servers."""
        for connection in self._connections.values():
            connection.parent.close(abandon=self._plan.moves)

    def _open(self, name: str) -> Parent:
        server = (name, self._addresses[name])
        if name not in self._packing:
            self._packing[name] = PackedServer.of(self._spec, name, self._plan)
        packing, keys = self._packing[name], self._context.keys
        return Parent(
            self._spec, self._plan, self._recorder, server=server, keys=keys, packing=packing
        )

    def _patience(self) -> float:
        """Return how long a model waits for those of other cells.

        Without moving clients there is no such bound by default: the round's deadline holds.
        """
        limits = self._plan.limits
        default = limits.round / 2 if self._plan.moves else _FOR_EVER
        return limits.patience or default

    def _take_models(self) -> dict[str, Message]:
        taken = {name: self._models[name] for name in self._connections if name in self._models}
        self._models.clear()
        return taken

    def _receive_one(self, silent: list[ServerConnection], deadline: float) -> None:
        """Wait until one message has been handled, or the launcher has reported a change."""
        endpoints = (connection.parent.endpoint for connection in silent)
        control = self._context.control if self._plan.moves else None
        first = first_with_message(endpoints, deadline, control)
        for connection in silent:
            if connection.parent.endpoint is first:
                message = connection.parent.receive(now())
                if message is not None:
                    self._handle(connection, message)

    def _handle(self, connection: ServerConnection, message: Message) -> None:
        name = connection.parent.name
        if message.kind == Kind.STOP:
            self._connections.pop(name).parent.close()
        elif message.kind == Kind.WELCOME:
            self._on_welcome(connection, message)
        elif message.kind == Kind.DATA:
            self._on_data(Package(message.meta, message.tensors))
        else:
            connection.member, connection.stage = True, "training"
            self._round = message.meta[GLOBAL_ROUND]
            self._models[name] = message
            self._updates[name] = LastUpdate(message.local_round, None)

    def _on_welcome(self, connection: ServerConnection, message: Message) -> None:
        """Record that the client has joined, and send the update that the server wants."""
        name = connection.parent.name
        connection.welcomed = True
        self._recorder.phase(
            self._spec.name, Phase.JOINED, connection.heard_since, now(), self._round, peer=name
        )
        last = self._updates.get(name)
        if last and last.update is not None and last.local_round == message.meta.get(WANTED):
            if last.sent:
                self._note(Phase.RESENT, peer=name, local_round=last.local_round)
            self._send(connection, last)

    def _send(self, connection: ServerConnection, last: LastUpdate) -> None:
        assert last.update is not None
        connection.parent.send_update(last.local_round, last.update)
        connection.stage, last.sent = "sent", True

    def _apply_orders(self) -> None:
        """Handle what the launcher has reported since the last time."""
        if not self._plan.moves:
            return
        for order in self._context.control.read_available():
            if isinstance(order, Cells):
                self._leave_others(order.hears, order.over)
                self._join_new(order.hears, order.since)
            elif isinstance(order, Stop):
                self._over = True

    def _leave_others(self, hears: list[str], over: list[str]) -> None:
        """Close the connections to servers not heard any more; those in `over` have finished."""
        for name in [name for name in self._connections if name not in hears]:
            connection, last = self._connections.pop(name), self._updates.get(name)
            if name not in over:
                held = last.local_round if last else 0
                self._note(Phase.LEFT, peer=name, stage=connection.stage, local_round=held)
            if self._models.pop(name, None) is not None:
                del self._updates[name]  # its training has not even begun
            connection.parent.close(abandon=True)

    def _join_new(self, hears: list[str], since: int) -> None:
        """Ask to join the servers that are newly heard, and put all in the order of `hears`."""
        for name in hears:
            if name not in self._connections:
                connection = ServerConnection(self._open(name), now(), welcomed=False, member=False)
                self._connections[name], last = connection, self._updates.get(name)
                connection.parent.join_during_run(since, last.local_round if last else 0)
        self._connections = {name: self._connections[name] for name in hears}
        self._waits_since = now()

    def _note(self, what: Phase, **details: Unpack[Details]) -> None:
        self._recorder.note(self._spec.name, what, self._round, **details)


def _longest_wait(plan: Plan) -> float:
    """Return for how long a client may hear nothing before it gives its server up.

    A client that is drawn for few of the rounds may wait for most of the run, and so may one whose
    server trains itself, for as long as that takes. Where servers crash, everybody waits as much
    longer as they are down.
    """
    sampled = plan.settings.get("clients_per_round", 0) > 0
    waits_its_turn = sampled or registry.method(plan.protocol).streams
    server_trains = any(node.children and node.samples for node in plan.nodes)
    all_rounds = 1 + plan.rounds * plan.settings.get("edge_rounds", 1)
    rounds = max(2, all_rounds) if waits_its_turn or server_trains else 2
    return plan.limits.join + rounds * plan.limits.round + plan.servers_down
