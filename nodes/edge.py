"""An edge (an institution, or a cell's server): several local rounds for one global round."""

from contracts.control import Bound, Ready
from contracts.messages import GLOBAL_ROUND, Kind
from nodes import cloud
from nodes.control import Control
from nodes.node_process import NodeContext
from nodes.parent import Parent
from nodes.recorder import now
from nodes.rounds import RoundServer
from nodes.transport import first_with_message
from protocols.base import Package
from protocols.wire import Message


def run(context: NodeContext) -> None:
    """Play an edge below a cloud, from joining to the word to stop, which it passes on.

    Without a cloud, an edge holds the global rounds itself.
    """
    if not context.spec.servers:
        cloud.run(context)
        return
    settings = context.settings
    method = context.method.Edge(settings, {})
    control = context.control if context.plan.moves else None
    server = RoundServer(context.spec, context.plan, method, context.recorder, control=control)
    context.control.say(Bound())
    parent = Parent(context.spec, context.plan, context.recorder)
    parent.join()
    server.admit()
    context.control.say(Ready())
    while (message := _next_model(parent, server, control)) is not None:
        method.receive(Package(message.meta, message.tensors))
        round = message.meta[GLOBAL_ROUND]
        before = (round - 1) * settings.edge_rounds
        for local_round in range(before + 1, before + settings.edge_rounds + 1):
            server.run(local_round, round)
        parent.send_update(message.local_round, method.upward())
        context.recorder.flush()
    context.recorder.flush()
    server.stop()
    parent.close()


def _next_model(parent: Parent, server: RoundServer, control: Control | None) -> Message | None:
    """Wait for the next model from above, and handle clients that come and go meanwhile."""
    if control is None:
        return parent.next_model()
    deadline = parent.deadline()
    while True:
        first = first_with_message((parent.endpoint, server.endpoint), deadline, control)
        if first is None:
            deadline = parent.extend_deadline()
        elif first is not parent.endpoint:
            server.handle_joins_and_departures()
        elif (message := parent.receive(now())) is not None:
            return message if message.kind == Kind.MODEL else None
