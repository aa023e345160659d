"""A server that nobody is above: starts every global iteration, and has its models evaluated.

The cloud; and every edge server where there is no cloud. Evaluation is off the clock.
"""

from functools import partial
from pathlib import Path

from nodes.inside import Inside
from nodes.phases import now
from nodes.rounds import RoundServer
from protocols.base import Tensors
from protocols.wire import Message, read_file, write_file


def run(inside: Inside) -> None:
    """All global iterations, from the word to go."""
    if not inside.spec.children:
        inside.control.say("bound")
        inside.control.say("ready")
        return  # every client trains alone
    begun = read_file(_beginning(inside))
    method = inside.method.Server(inside.settings, begun.tensors)
    control = inside.control if inside.plan.moves else None
    server = RoundServer(
        inside.spec,
        inside.plan,
        method,
        inside.recorder,
        control=control,
        deserted=inside.restarted > 0,
    )
    inside.control.say("bound")
    if not inside.restarted:
        server.admit()
        inside.control.say("ready")
        inside.control.wait_for("go")
        inside.control.say("round", round=0, end=now())
    may_crash = any(event.get("node") == inside.spec.name for event in inside.plan.timeline)
    for number in range(begun.round + 1, inside.plan.rounds + 1):
        server.run(number, number, partial(hand_over, inside, number - 1, method.model))
        inside.control.say("round", round=number, end=now())
        if may_crash:
            _remember(inside, number, method.model)
    hand_over(inside, inside.plan.rounds, method.model)
    server.stop()
    leave_final(inside, method.model)


def _beginning(inside: Inside) -> Path:
    """The first model; after a restart that of the last finished round."""
    first, last = inside.run_dir / "initial.model", _checkpoint(inside)
    return last if inside.restarted and last.exists() else first


def _checkpoint(inside: Inside) -> Path:
    return inside.spool / f"checkpoint-{inside.spec.name}.model"


def _remember(inside: Inside, round: int, model: Tensors) -> None:
    """What a restart begins with: the model of the last round that was finished."""
    write_file(_checkpoint(inside), Message("checkpoint", inside.spec.name, round, {}, model))


def _file_name(what: str, inside: Inside) -> str:
    """One of its own for each of several."""
    alone = len(inside.plan.tops) == 1
    return f"{what}.model" if alone else f"{what}-{inside.spec.name}.model"


def leave_final(inside: Inside, model: Tensors) -> None:
    """The last model, for whoever wants to use it."""
    final = Message("final", inside.spec.name, inside.plan.rounds, {}, model)
    write_file(inside.run_dir / _file_name("final", inside), final)


def hand_over(inside: Inside, round: int, model: Tensors) -> None:
    """Give a model to the evaluator outside; no node waits for what it finds."""
    inside.recorder.flush()
    several = len(inside.plan.tops)
    meta = {"round": round, "key": "global" if several == 1 else inside.spec.name}
    if inside.spec.children:
        meta["of"] = several  # of so many models the average is evaluated too
    path = inside.spool / "evaluate" / _file_name(f"round-{round:05d}", inside)
    write_file(path, Message("evaluate", inside.spec.name, round, meta, model))
