"""An edge (an institution, or a cell's server): several local rounds for one global round."""

from contracts.control import Bound, Ready, Rejoining
from contracts.messages import GLOBAL_ROUND
from nodes import cloud
from nodes.cloud_connection import CloudConnection
from nodes.node_process import NodeContext
from nodes.rounds import RoundServer
from nodes.streaming import StreamingServer
from protocols.base import Package


def run(context: NodeContext) -> None:
    """Play an edge below a cloud, from joining to the word to stop, which it passes on.

    Without a cloud, an edge holds the global rounds itself. An edge that was restarted waits for
    its clients and then joins the cloud anew, whose next model it begins with.
    """
    if not context.spec.servers:
        cloud.run(context)
        return
    settings = context.settings
    method = context.method.Edge(settings, {})
    kind = StreamingServer if context.method.streams else RoundServer
    server = kind(
        context.spec,
        context.plan,
        method,
        context.recorder,
        control=context.control if context.plan.moves else None,
        starts_empty=context.restarted > 0,
        keys=context.keys,
    )
    above = CloudConnection(context)
    context.control.say(Bound())
    if context.restarted:
        server.await_return(context.control.wait_for(Rejoining).children, given_up=above.is_over)
    else:
        above.join()
        server.admit()
        context.control.say(Ready())
    while (message := above.next_model(server)) is not None:
        method.receive(Package(message.meta, message.tensors))
        round = message.meta[GLOBAL_ROUND]
        before = (round - 1) * settings.edge_rounds
        for local_round in range(before + 1, before + settings.edge_rounds + 1):
            server.run(local_round, round)
            if not above.is_wanted():
                break  # the cloud has crashed, and will begin this global round again
        above.answer(method.upward())
        context.recorder.flush()
    context.recorder.flush()
    server.stop()
    above.close()
