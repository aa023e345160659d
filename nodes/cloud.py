"""A top server: it starts every global round and has its models evaluated.

This is the cloud, or every edge server where there is no cloud. Evaluation is off the clock.
"""

from functools import partial
from pathlib import Path

import numpy as np

from contracts.control import Bound, Go, Ready, Rejoining, RoundEnded
from contracts.evaluations import GLOBAL
from contracts.messages import EVALUATED_KEY, EVALUATED_OF, EVALUATED_ROUND, Kind
from contracts.plan import NodeSpec, Plan
from contracts.run_directory import RunDirectory, name_of_top
from contracts.spool import ROUND_PREFIX
from learning.training.learning_rate import learning_rate_in
from nodes.checkpoint import Checkpoint
from nodes.compute import Computer
from nodes.evaluation_queue import model_file
from nodes.node_process import NodeContext
from nodes.recorder import now
from nodes.rounds import RoundServer
from nodes.stopping import StopAtTarget
from nodes.streaming import StreamingServer
from protocols.base import Facts, Package, Tensors
from protocols.wire import Message, read_file, write_file


def run(context: NodeContext) -> None:
    """Hold all global rounds, from the word to go; a restarted server goes on where it was."""
    if not context.spec.children:
        context.control.say(Bound())
        context.control.say(Ready())
        return  # every client trains on its own
    initial = read_file(RunDirectory(context.run_dir).initial_model)
    method = context.method.Server(context.settings, initial.tensors)
    checkpoint = Checkpoint(context)
    kept = checkpoint.read()
    if kept is not None:
        method.restore_state(Package(kept.meta, kept.tensors))
    method.facts = facts_of(context.plan, context.spec)
    if context.method.sends_server_data:
        method.data = own_samples(context.run_dir)
    control = context.control if context.plan.moves else None
    kind = StreamingServer if context.method.streams else RoundServer
    server = kind(
        context.spec,
        context.plan,
        method,
        context.recorder,
        control=control,
        starts_empty=context.restarted > 0,
        keys=context.keys,
        computer=_computer(context),
    )
    context.control.say(Bound())
    if context.restarted:
        server.await_return(context.control.wait_for(Rejoining).children)
    else:
        server.admit()
        context.control.say(Ready())
        context.control.wait_for(Go)
        context.control.say(RoundEnded(0, now()))
    # A top server's local rounds are the global rounds.
    last, stop = kept.local_round if kept else 0, StopAtTarget(context)
    for round in range(last + 1, context.plan.rounds + 1):
        if stop.before(round):
            break
        server.run(round, round, partial(submit_if_due, context, round - 1, method.model))
        context.control.say(RoundEnded(round, now()))
        checkpoint.write(round, method.state_to_keep())
        last = round
    submit_for_evaluation(context, last, method.model)
    server.stop()
    save_final_model(context, last, method.model)


def facts_of(plan: Plan, server: NodeSpec) -> Facts:
    """Collect the numbers of the run that a method's formulas use."""
    samples = [node.samples for node in plan.nodes if node.role == "client"]
    below = [plan.node(name) for name in server.children]
    return Facts(
        clients=len(samples),
        institutions=sum(bool(node.children) for node in below),
        sampled=min(plan.settings.get("clients_per_round") or len(samples), len(samples)),
        samples=sum(samples),
        server_samples=server.samples,
        batch_size=plan.training.batch_size,
        learning_rate=learning_rate_in(plan.training, 1),
    )


def own_samples(run_dir: Path) -> Tensors:
    """Read the samples that the server has itself."""
    with np.load(RunDirectory(run_dir).server_data, allow_pickle=False) as stored:
        return dict(stored)


def _computer(context: NodeContext) -> Computer | None:
    """Make what the server trains by, if it has samples of its own."""
    if not context.spec.samples:
        return None
    return Computer(
        context.spec, context.plan, context.trainer(), context.device(), life=context.restarted
    )


def save_final_model(context: NodeContext, round: int, model: Tensors) -> None:
    """Write the last round's model into the run directory."""
    final = Message(Kind.FINAL, context.spec.name, round, {}, model)
    write_file(
        RunDirectory(context.run_dir).final_model(final.sender, len(context.plan.tops)), final
    )


def submit_if_due(context: NodeContext, round: int, model: Tensors) -> None:
    """Give a round's model to the evaluator if this round is one to be evaluated."""
    if context.plan.is_evaluated(round):
        submit_for_evaluation(context, round, model)


def submit_for_evaluation(context: NodeContext, round: int, model: Tensors) -> None:
    """Give a round's model to the evaluator outside the network; no node waits for the result."""
    context.recorder.flush()
    several = len(context.plan.tops)
    meta = {EVALUATED_ROUND: round, EVALUATED_KEY: GLOBAL if several == 1 else context.spec.name}
    if context.spec.children:
        meta[EVALUATED_OF] = several  # the average of that many models is evaluated too
    name = name_of_top(f"{ROUND_PREFIX}{round:05d}", context.spec.name, several)
    path = model_file(context.plan, context.run_dir, context.spool, context.spec.name, name)
    write_file(path, Message(Kind.EVALUATE, context.spec.name, round, meta, model))
