"""A client: receives models, trains them on its own samples, sends the updates."""

from contracts.control import Ready
from contracts.events import Phase
from contracts.messages import GLOBAL_ROUND
from nodes import solo_client
from nodes.checkpoint import Checkpoint
from nodes.client_servers import ClientServers
from nodes.compute import Computer
from nodes.node_process import NodeContext
from nodes.recorder import now
from protocols.base import Package


def run(context: NodeContext) -> None:
    """Play a client from joining to the word to stop; train alone if there is no server."""
    if context.spec.parent is None:
        solo_client.run(context)
        return
    spec, recorder = context.spec, context.recorder
    method = context.method.Client(context.settings)
    trainer = context.trainer()
    computer = Computer(spec, context.plan, trainer, context.device(), life=context.restarted)
    servers = ClientServers(context, on_data=method.receive_data)
    checkpoint = Checkpoint(context)
    if (kept := checkpoint.read()) is not None:
        method.restore_state(kept.tensors)
    servers.begin()
    context.control.say(Ready())
    while models := servers.next_models():
        packages = {
            name: Package(message.meta, message.tensors) for name, message in models.items()
        }
        for job in method.jobs(packages):
            if not servers.hears_any(job.to):
                continue  # the client has left them meanwhile
            message, start = models[job.to[0]], now()
            result, timing = computer.train(job, message.local_round)
            recorder.phase(
                spec.name,
                Phase.COMPUTE,
                start,
                now(),
                message.meta[GLOBAL_ROUND],
                local_round=message.local_round,
                peer=job.to[0],
                **timing,
            )
            replies = {name: method.reply(packages[name], result) for name in job.to}
            checkpoint.write(message.local_round, Package({}, method.state_to_keep()))
            for name, reply in replies.items():
                servers.send(name, models[name].local_round, reply)
        recorder.flush()
    recorder.flush()
    servers.close()
    trainer.close()
