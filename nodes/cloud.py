"""A server that nobody is above: starts every global round, and has its models evaluated.

The cloud; and every edge server where there is no cloud. Evaluation is off the clock.
"""

from functools import partial
from pathlib import Path

import numpy as np

from contracts.control import Bound, Go, Ready, RoundEnded
from contracts.evaluations import GLOBAL
from contracts.messages import EVALUATED_KEY, EVALUATED_OF, EVALUATED_ROUND, Kind
from contracts.run_directory import RunDirectory, name_of_top
from learning.training.learning_rate import learning_rate_in
from nodes.checkpoint import Storage
from nodes.compute import Computer
from nodes.node_process import Inside
from nodes.recorder import now
from nodes.rounds import RoundServer
from protocols.base import Facts, Tensors
from protocols.wire import Message, read_file, write_file


def run(inside: Inside) -> None:
    """All global rounds, from the word to go."""
    if not inside.spec.children:
        inside.control.say(Bound())
        inside.control.say(Ready())
        return  # every client trains alone
    storage = Storage(inside)
    begun = storage.read() or read_file(RunDirectory(inside.run_dir).initial_model)
    method = inside.method.Server(inside.settings, begun.tensors)
    method.facts = _facts(inside)
    if inside.method.sends_server_data:
        method.data = _own_samples(inside.run_dir)
    control = inside.control if inside.plan.moves else None
    server = RoundServer(
        inside.spec,
        inside.plan,
        method,
        inside.recorder,
        control=control,
        deserted=inside.restarted > 0,
        computer=_computer(inside),
    )
    inside.control.say(Bound())
    if not inside.restarted:
        server.admit()
        inside.control.say(Ready())
        inside.control.wait_for(Go)
        inside.control.say(RoundEnded(0, now()))
    for round in range(begun.local_round + 1, inside.plan.rounds + 1):  # global and local are one
        server.run(round, round, partial(hand_over, inside, round - 1, method.model))
        inside.control.say(RoundEnded(round, now()))
        storage.write(round, method.model)
    hand_over(inside, inside.plan.rounds, method.model)
    server.stop()
    leave_final(inside, method.model)


def _facts(inside: Inside) -> Facts:
    """The papers' letters in numbers."""
    plan = inside.plan
    samples = [node.samples for node in plan.nodes if node.role == "client"]
    return Facts(
        clients=len(samples),
        sampled=min(plan.settings.get("clients_per_round") or len(samples), len(samples)),
        samples=sum(samples),
        server_samples=inside.spec.samples,
        batch_size=plan.training.batch_size,
        learning_rate=learning_rate_in(plan.training, 1),
    )


def _own_samples(run_dir: Path) -> Tensors:
    with np.load(RunDirectory(run_dir).server_data, allow_pickle=False) as stored:
        return dict(stored)


def _computer(inside: Inside) -> Computer | None:
    """For a server that has samples of its own."""
    if not inside.spec.samples:
        return None
    return Computer(inside.spec, inside.plan, inside.trainer(), life=inside.restarted)


def leave_final(inside: Inside, model: Tensors) -> None:
    """The last model, for whoever wants to use it."""
    final = Message(Kind.FINAL, inside.spec.name, inside.plan.rounds, {}, model)
    write_file(RunDirectory(inside.run_dir).final_model(final.sender, len(inside.plan.tops)), final)


def hand_over(inside: Inside, round: int, model: Tensors) -> None:
    """Give a model to the evaluator outside; no node waits for what it finds."""
    inside.recorder.flush()
    several = len(inside.plan.tops)
    meta = {EVALUATED_ROUND: round, EVALUATED_KEY: GLOBAL if several == 1 else inside.spec.name}
    if inside.spec.children:
        meta[EVALUATED_OF] = several  # of so many models the average is evaluated too
    name = name_of_top(f"round-{round:05d}", inside.spec.name, several)
    path = inside.spool.model_to_evaluate(name)
    write_file(path, Message(Kind.EVALUATE, inside.spec.name, round, meta, model))
