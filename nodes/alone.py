"""A client that nobody is above: trains its own model on, and has it evaluated every round."""

from contracts.run_directory import RunDirectory
from nodes.cloud import hand_over, leave_final
from nodes.compute import Computer
from nodes.inside import Inside
from nodes.phases import now
from protocols.base import Package
from protocols.wire import read_file


def run(inside: Inside) -> None:
    """All rounds, from the word to go; nobody is waited for."""
    name = inside.spec.name
    method = inside.method.Client(inside.settings)
    trainer = inside.trainer()
    computer = Computer(inside.spec, inside.plan, trainer)
    model = read_file(RunDirectory(inside.run_dir).initial_model).tensors
    inside.control.say("ready")
    inside.control.wait_for("go")
    inside.control.say("round", round=0, end=now())
    hand_over(inside, 0, model)
    for number in range(1, inside.plan.rounds + 1):
        [job] = method.jobs({name: Package({}, model)})
        start = now()
        result, timing = computer.train(job, number)
        model = result.tensors
        inside.recorder.phase(name, "compute", start, now(), number, number=number, **timing)
        inside.control.say("round", round=number, end=now())
        hand_over(inside, number, model)
    leave_final(inside, model)
    trainer.close()
