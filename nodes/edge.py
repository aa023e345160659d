"""An edge (an institution, or a cell's server): several rounds among its clients for one above."""

from contracts.control import Bound, Ready
from contracts.messages import GLOBAL_ROUND, Kind
from nodes import cloud
from nodes.control import Control
from nodes.node_process import Inside
from nodes.parent import Parent
from nodes.recorder import now
from nodes.rounds import RoundServer
from nodes.transport import first_to_hear
from protocols.base import Package
from protocols.wire import Message


def run(inside: Inside) -> None:
    """From joining to the word to stop, which it passes on; without a cloud as one itself."""
    if not inside.spec.servers:
        cloud.run(inside)
        return
    settings = inside.settings
    method = inside.method.Edge(settings, {})
    control = inside.control if inside.plan.moves else None
    server = RoundServer(inside.spec, inside.plan, method, inside.recorder, control=control)
    inside.control.say(Bound())
    parent = Parent(inside.spec, inside.plan, inside.recorder)
    parent.join()
    server.admit()
    inside.control.say(Ready())
    while (message := _next_model(parent, server, control)) is not None:
        method.receive(Package(message.meta, message.tensors))
        round = message.meta[GLOBAL_ROUND]
        before = (round - 1) * settings.edge_rounds
        for local_round in range(before + 1, before + settings.edge_rounds + 1):
            server.run(local_round, round)
        parent.send_update(message.local_round, method.upward())
        inside.recorder.flush()
    inside.recorder.flush()
    server.stop()
    parent.close()


def _next_model(parent: Parent, server: RoundServer, control: Control | None) -> Message | None:
    """The next model from above; whoever comes or leaves meanwhile is attended to."""
    if control is None:
        return parent.next_model()
    deadline = parent.deadline()
    while True:
        first = first_to_hear((parent.endpoint, server.endpoint), deadline, control)
        if first is None:
            deadline = parent.patience_is_over()
        elif first is not parent.endpoint:
            server.attend()
        elif (message := parent.hear(now())) is not None:
            return message if message.kind == Kind.MODEL else None
