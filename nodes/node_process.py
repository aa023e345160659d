"""A node's process: it waits for the launcher's word, plays its role and reports how it ended."""

import importlib
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.control import Done, Failed, Keys, Listen, Listening, Measure, Start, Word
from contracts.plan import NodeSpec, Plan
from contracts.spool import Spool
from contracts.training import Trainer
from netem import probe, rights, syscalls
from nodes.compute import make_trainer
from nodes.control import Control
from nodes.devices import Device, OwnDevice, SharedDevice
from nodes.recorder import Recorder
from protocols import registry
from protocols.method import Method


@dataclass
class NodeContext:
    """Everything that the code of a role needs: what the node is, and its lines to the outside."""

    spec: NodeSpec
    plan: Plan
    run_dir: Path
    spool: Spool
    control: Control
    recorder: Recorder
    keys: Keys | None = None  # None: nobody proves who they are in this run
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
        """Make the trainer of this node."""
        return make_trainer(self.plan, self.run_dir, self.spool, self.spec.name)

    def device(self) -> Device:
        """Return what this node computes on."""
        return SharedDevice(self.control) if self.spec.shared_device else OwnDevice()


def run_node(spec: NodeSpec, plan: Plan, run_dir: Path, spool: Spool, control: Control) -> None:
    """Run a node from the word to start to its end; its links may be measured before.

    The module of its role is `nodes.ROLE`; an error there is reported to the launcher.
    """
    if plan.pause != "sleep":
        syscalls.run_in_order_of_waking()
    keys = None
    while not isinstance(order := control.wait_for(Start, Keys, Listen, Measure), Start):
        if isinstance(order, Keys):
            keys = order
        else:
            _take_part_in_probe(control, order)
    rights.give_up()
    recorder = Recorder(control)
    context = NodeContext(spec, plan, run_dir, spool, control, recorder, keys, order.restarted)
    try:
        importlib.import_module(f"nodes.{spec.role}").run(context)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        context.recorder.flush()
        control.say(Failed(f"{type(error).__name__}: {error}"))
        raise SystemExit(1) from None
    control.say(Done())


def _take_part_in_probe(control: Control, order: Word) -> None:
    """Be one end of a link's measurement, before training."""
    if isinstance(order, Measure):
        control.say(probe.measure(order.address, order.upload, order.download))
    elif isinstance(order, Listen):
        listener = probe.listen(order.address)
        control.say(Listening())
        probe.serve(listener)
