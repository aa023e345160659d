"""A client that nobody is above: trains its own model on, and has it evaluated every round."""

from contracts.control import Go, Ready, RoundEnded
from contracts.events import Phase
from contracts.run_directory import RunDirectory
from nodes.cloud import hand_over, leave_final
from nodes.compute import Computer
from nodes.node_process import Inside
from nodes.recorder import now
from protocols.base import Package
from protocols.wire import read_file


def run(inside: Inside) -> None:
    """All rounds, from the word to go; nobody is waited for."""
    name = inside.spec.name
    method = inside.method.Client(inside.settings)
    trainer = inside.trainer()
    computer = Computer(inside.spec, inside.plan, trainer)
    model = read_file(RunDirectory(inside.run_dir).initial_model).tensors
    inside.control.say(Ready())
    inside.control.wait_for(Go)
    inside.control.say(RoundEnded(0, now()))
    hand_over(inside, 0, model)
    for round in range(1, inside.plan.rounds + 1):
        [job] = method.jobs({name: Package({}, model)})
        start = now()
        result, timing = computer.train(job, round)
        model = result.tensors
        inside.recorder.phase(name, Phase.COMPUTE, start, now(), round, local_round=round, **timing)
        inside.control.say(RoundEnded(round, now()))
        hand_over(inside, round, model)
    leave_final(inside, model)
    trainer.close()
