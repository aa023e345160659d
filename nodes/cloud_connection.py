"""An edge's connection to the cloud above it, which may be lost and made anew.

The launcher reports over the control line when the cloud has crashed and when it is back. Reports
are handled between local rounds, never during one.
"""

from contracts.control import Cells
from contracts.events import Phase
from contracts.messages import GLOBAL_ROUND, Kind
from nodes.node_process import NodeContext
from nodes.parent import Parent
from nodes.recorder import now
from nodes.rounds import RoundServer
from nodes.transport import first_with_message
from protocols.base import Package
from protocols.wire import Message

_FOR_EVER = 1e9  # seconds: the launcher ends whoever waits for nothing


class CloudConnection:
    """Receives the cloud's models and sends it the answers, as long as the cloud is there."""

    def __init__(self, context: NodeContext) -> None:
        self._context, self._recorder = context, context.recorder
        self._name = context.spec.parent
        self._control = context.control if context.plan.moves else None
        self._parent: Parent | None = None
        self._deadline = _FOR_EVER
        self._heard: Cells | None = None  # the report that the cloud is there again
        self._heard_since = 0.0
        self._model: Message | None = None  # that is being worked on
        self._round = 0  # the last global round heard of
        self._over = False

    def join(self) -> None:
        """Join at the start of the run, and wait for the welcome."""
        self._open().join()

    def next_model(self, server: RoundServer) -> Message | None:
        """Wait for the next model, and handle clients that come and go; None when all is over."""
        nobody_comes = self._control is None and not server.takes_updates_between_rounds
        if nobody_comes and self._parent is not None:
            self._model = self._parent.next_model()
            return self._model
        if self._parent is not None:
            self._deadline = self._parent.deadline()
        while self._model is None and not self.is_over():
            self._join_again()
            above = [self._parent.endpoint] if self._parent else []
            first = first_with_message((*above, server.endpoint), self._deadline, self._control)
            if self._parent is not None and first is None:
                self._deadline = self._parent.extend_deadline()
            elif self._parent is None or first is not self._parent.endpoint:
                server.handle_joins_and_departures()
            elif (message := self._parent.receive(now())) is not None:
                self._handle(message)
        return self._model

    def is_over(self) -> bool:
        """Tell whether the cloud has finished, as far as we know."""
        self._apply_orders()
        return self._over

    def is_wanted(self) -> bool:
        """Tell whether the cloud still waits for the answer to its last model."""
        self._apply_orders()
        return self._model is not None

    def answer(self, update: Package) -> None:
        """Send what became of the last model, unless the cloud that sent it is gone."""
        if self.is_wanted() and self._parent is not None and self._model is not None:
            self._parent.send_update(self._model.local_round, update)
        self._model = None

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._parent is not None:
            self._parent.close()

    def _open(self) -> Parent:
        context = self._context
        self._parent = Parent(context.spec, context.plan, self._recorder, keys=context.keys)
        self._deadline = self._parent.deadline()
        return self._parent

    def _join_again(self) -> None:
        """Connect to the cloud if it is there again, and ask to join without waiting."""
        if self._heard is not None:
            self._open().join_during_run(self._heard.since, holds=0)
            self._heard = None

    def _handle(self, message: Message) -> None:
        name = self._context.spec.name
        if message.kind == Kind.MODEL:
            self._model, self._round = message, message.meta[GLOBAL_ROUND]
        elif message.kind == Kind.STOP:
            self._over = True
        elif message.kind == Kind.WELCOME:
            self._recorder.phase(
                name, Phase.JOINED, self._heard_since, now(), self._round, peer=message.sender
            )

    def _apply_orders(self) -> None:
        """Handle what the launcher has reported since the last time."""
        for order in self._control.take_available(Cells) if self._control else ():
            if self._parent is not None and self._parent.name not in order.hears:
                self._lose(self._parent, crashed=self._name not in order.over)
            if self._parent is None and order.hears:
                self._heard, self._heard_since = order, now()
            elif not order.hears:
                self._heard = None
            self._over = self._over or self._name in order.over

    def _lose(self, cloud: Parent, crashed: bool) -> None:
        """Close the connection to a cloud that has crashed or finished, and drop its model."""
        if crashed:
            stage, held = ("training", self._model.local_round) if self._model else ("waiting", 0)
            self._recorder.note(
                self._context.spec.name,
                Phase.LEFT,
                self._round,
                peer=cloud.name,
                stage=stage,
                local_round=held,
            )
        cloud.close(abandon=True)
        self._parent, self._model, self._deadline = None, None, _FOR_EVER
