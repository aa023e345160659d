"""A client: receives a model, trains it on its own samples, sends the update."""

from nodes.compute import Computer
from nodes.inside import Inside
from nodes.parent import Parent
from nodes.phases import now
from protocols.base import Package


def run(inside: Inside) -> None:
    """From joining to the word to stop."""
    spec, recorder = inside.spec, inside.recorder
    method = inside.method.Client(inside.settings)
    trainer = inside.trainer()
    computer = Computer(spec, inside.plan, trainer)
    parent = Parent(spec, inside.plan, recorder)
    parent.join()
    inside.control.say("ready")
    while (message := parent.next_model()) is not None:
        package = Package(message.meta, message.tensors)
        start = now()
        result, timing = computer.train(method.work(package), message.tensors, message.round)
        recorder.phase(
            spec.name,
            "compute",
            start,
            now(),
            message.meta["iteration"],
            number=message.round,
            **timing,
        )
        parent.send_update(message.round, method.reply(package, result))
        recorder.flush()
    recorder.flush()
    parent.close()
    trainer.close()
