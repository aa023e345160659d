"""The cloud: starts every global iteration and hands its models to the evaluator, off the clock."""

from functools import partial

from nodes.inside import Inside
from nodes.phases import now
from nodes.rounds import RoundServer
from protocols.base import Tensors
from protocols.wire import Message, read_file, write_file


def run(inside: Inside) -> None:
    """All global iterations, from the word to go."""
    initial = read_file(inside.run_dir / "initial.model").tensors
    method = inside.method.Server(inside.settings, initial)
    server = RoundServer(inside.spec, inside.plan, method, inside.recorder)
    inside.control.say("bound")
    server.admit()
    inside.control.say("ready")
    inside.control.wait_for("go")
    ended = now()
    inside.control.say("round", round=0, start=ended, end=ended)
    for number in range(1, inside.plan.rounds + 1):
        start = ended
        server.run(number, number, partial(_hand_over, inside, number - 1, method.model))
        ended = now()
        inside.control.say("round", round=number, start=start, end=ended)
    _hand_over(inside, inside.plan.rounds, method.model)
    server.stop()
    final = Message("final", inside.spec.name, inside.plan.rounds, {}, method.model)
    write_file(inside.run_dir / "final.model", final)


def _hand_over(inside: Inside, round: int, model: Tensors) -> None:
    """Give a model to the evaluator outside; no node waits for what it finds."""
    inside.recorder.flush()
    meta = {"round": round, "key": "global"}
    path = inside.spool / "evaluate" / f"round-{round:05d}.model"
    write_file(path, Message("evaluate", inside.spec.name, round, meta, model))
