"""A client: receives models, trains them on its own samples, sends the updates."""

from nodes.compute import Computer
from nodes.inside import Inside
from nodes.parent import Parent
from nodes.phases import now
from nodes.transport import first_to_hear
from protocols.base import Package
from protocols.wire import Message


def run(inside: Inside) -> None:
    """From joining to the word to stop."""
    spec, recorder = inside.spec, inside.recorder
    method = inside.method.Client(inside.settings)
    trainer = inside.trainer()
    computer = Computer(spec, inside.plan, trainer)
    parents = {
        server[0]: Parent(spec, inside.plan, recorder, server=server) for server in spec.servers
    }
    for parent in parents.values():
        parent.join()
    inside.control.say("ready")
    while heard := _heard(parents):
        packages = {name: Package(message.meta, message.tensors) for name, message in heard.items()}
        for job in method.jobs(packages):
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
            for name in job.to:
                update = method.reply(packages[name], result)
                parents[name].send_update(heard[name].round, update)
        recorder.flush()
    recorder.flush()
    for parent in parents.values():
        parent.close()
    trainer.close()


def _heard(parents: dict[str, Parent]) -> dict[str, Message]:
    """The next model of every server, once all have come; a server that ends is left out."""
    models: dict[str, Message] = {}
    waiting = list(parents.values())
    while waiting:
        deadline = waiting[0].deadline()
        heard = first_to_hear((parent.endpoint for parent in waiting), deadline)
        # At the deadline nobody was heard: whoever is asked then has failed.
        first = next((p for p in waiting if p.endpoint is heard), waiting[0])
        waiting.remove(first)
        model = first.next_model(deadline)
        if model is not None:
            models[first.name] = model
        else:
            parents.pop(first.name).close()
    return {name: models[name] for name in parents if name in models}
