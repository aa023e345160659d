"""A client without a server: it trains its own model, which is evaluated after every round."""

from contracts.control import Go, Ready, RoundEnded
from contracts.events import Phase
from contracts.run_directory import RunDirectory
from nodes.cloud import save_final_model, submit_for_evaluation
from nodes.compute import Computer
from nodes.node_process import NodeContext
from nodes.recorder import now
from protocols.base import Package
from protocols.wire import read_file


def run(context: NodeContext) -> None:
    """Train all rounds, from the word to go; the clients do not wait for each other."""
    name = context.spec.name
    method = context.method.Client(context.settings)
    trainer = context.trainer()
    computer = Computer(context.spec, context.plan, trainer, context.device())
    model = read_file(RunDirectory(context.run_dir).initial_model).tensors
    context.control.say(Ready())
    context.control.wait_for(Go)
    context.control.say(RoundEnded(0, now()))
    submit_for_evaluation(context, 0, model)
    for round in range(1, context.plan.rounds + 1):
        [job] = method.jobs({name: Package({}, model)})
        start = now()
        result, timing = computer.train(job, round)
        model = result.tensors
        context.recorder.phase(
            name, Phase.COMPUTE, start, now(), round, local_round=round, **timing
        )
        context.control.say(RoundEnded(round, now()))
        if context.plan.is_evaluated(round) or round == context.plan.rounds:
            submit_for_evaluation(context, round, model)
    save_final_model(context, context.plan.rounds, model)
    trainer.close()
