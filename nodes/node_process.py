"""What a node's process holds: its specification, the plan, and its line to the launcher."""

import importlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.control import Done, Failed, Listen, Listening, Measure, Start, Word
from contracts.plan import NodeSpec, Plan
from contracts.spool import Spool
from contracts.training import Trainer
from netem import probe
from nodes.compute import make_trainer
from nodes.control import Control
from nodes.recorder import Recorder
from protocols import registry
from protocols.method import Method


@dataclass
class Inside:
    """A node's surroundings, given to the code of its role."""

    spec: NodeSpec
    plan: Plan
    run_dir: Path
    spool: Spool
    control: Control
    recorder: Recorder
    restarted: int = 0  # how many earlier processes of this node the timeline has ended

    @property
    def method(self) -> Method:
        """The scenario's method."""
        return registry.method(self.plan.protocol)

    @property
    def settings(self) -> Any:
        """The protocol's settings, as the scenario gives them."""
        return self.method.Settings(**self.plan.settings)

    def trainer(self) -> Trainer:
        """Whatever trains for this node."""
        return make_trainer(self.plan, self.run_dir, self.spool, self.spec.name)


def live(spec: NodeSpec, plan: Plan, run_dir: Path, spool: Spool, control: Control) -> None:
    """A node's life: wait for the word to start, play the role, report how it ended."""
    while not isinstance(order := control.wait_for(Start, Listen, Measure), Start):
        _probe(control, order)
    inside = Inside(spec, plan, run_dir, spool, control, Recorder(control), order.restarted)
    try:
        importlib.import_module(f"nodes.{spec.role}").run(inside)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        inside.recorder.flush()
        control.say(Failed(f"{type(error).__name__}: {error}"))
        raise SystemExit(1) from None
    control.say(Done())


def _probe(control: Control, order: Word) -> None:
    """One end of a link's measurement, before training."""
    if isinstance(order, Measure):
        control.say(probe.measure(order.address, order.upload, order.download))
    elif isinstance(order, Listen):
        listener = probe.listen(order.address)
        control.say(Listening())
        probe.serve(listener)
