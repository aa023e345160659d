"""A client: receives models, trains them on its own samples, sends the updates."""

from nodes import alone
from nodes.compute import Computer
from nodes.hearing import Hearing
from nodes.inside import Inside
from nodes.phases import now
from nodes.storage import Storage
from protocols.base import Package


def run(inside: Inside) -> None:
    """From joining to the word to stop; without a server alone."""
    if inside.spec.parent is None:
        alone.run(inside)
        return
    spec, recorder = inside.spec, inside.recorder
    method = inside.method.Client(inside.settings)
    trainer = inside.trainer()
    computer = Computer(spec, inside.plan, trainer, life=inside.restarted)
    hearing = Hearing(inside, on_data=method.supplied)
    storage = Storage(inside)
    if (kept := storage.read()) is not None:
        method.recall(kept.tensors)
    hearing.begin()
    inside.control.say("ready")
    while heard := hearing.next_models():
        packages = {name: Package(message.meta, message.tensors) for name, message in heard.items()}
        for job in method.jobs(packages):
            if not hearing.hears_any(job.to):
                continue  # it left them meanwhile
            message, start = heard[job.to[0]], now()
            result, timing = computer.train(job, message.round)
            recorder.phase(
                spec.name,
                "compute",
                start,
                now(),
                message.meta["iteration"],
                number=message.round,
                peer=job.to[0],
                **timing,
            )
            replies = {name: method.reply(packages[name], result) for name in job.to}
            storage.write(message.round, method.kept())
            for name, reply in replies.items():
                hearing.send(name, heard[name].round, reply)
        recorder.flush()
    recorder.flush()
    hearing.close()
    trainer.close()
