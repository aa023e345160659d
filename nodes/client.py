"""A client: receives models, trains them on its own samples, sends the updates."""

from contracts.control import Ready
from contracts.events import Phase
from contracts.messages import GLOBAL_ROUND
from nodes import solo_client
from nodes.checkpoint import Storage
from nodes.client_servers import Hearing
from nodes.compute import Computer
from nodes.node_process import Inside
from nodes.recorder import now
from protocols.base import Package


def run(inside: Inside) -> None:
    """From joining to the word to stop; without a server alone."""
    if inside.spec.parent is None:
        solo_client.run(inside)
        return
    spec, recorder = inside.spec, inside.recorder
    method = inside.method.Client(inside.settings)
    trainer = inside.trainer()
    computer = Computer(spec, inside.plan, trainer, life=inside.restarted)
    hearing = Hearing(inside, on_data=method.receive_data)
    storage = Storage(inside)
    if (kept := storage.read()) is not None:
        method.restore_state(kept.tensors)
    hearing.begin()
    inside.control.say(Ready())
    while heard := hearing.next_models():
        packages = {name: Package(message.meta, message.tensors) for name, message in heard.items()}
        for job in method.jobs(packages):
            if not hearing.hears_any(job.to):
                continue  # it left them meanwhile
            message, start = heard[job.to[0]], now()
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
            storage.write(message.local_round, method.state_to_keep())
            for name, reply in replies.items():
                hearing.send(name, heard[name].local_round, reply)
        recorder.flush()
    recorder.flush()
    hearing.close()
    trainer.close()
