"""The launcher: builds the network, starts the nodes and keeps the records of a run.

It runs inside the guest, or inside the private namespace of a native run: the code is the same. It
is the parent of every node, so it notices at once when a node dies, and all nodes die with it.
"""

import gc
import math
import socket
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

# Imported before the hosts are forked, so that every node has them without reading a file.
import msgpack  # noqa: F401
import numpy  # noqa: F401
import zmq  # noqa: F401

from contracts import plugins, status
from contracts.control import (
    Bound,
    Done,
    Events,
    Go,
    Occupy,
    Ready,
    RoundEnded,
    Stop,
    Vacate,
    Word,
)
from contracts.events import Details, EventFields, Phase
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from netem import syscalls
from nodes import client, cloud, edge  # noqa: F401
from nodes.compute import make_pauses
from nodes.control import Control
from nodes.launch.global_rounds import GlobalRounds
from nodes.launch.link_probes import probe_links
from nodes.launch.processes import NodeFailed, NodeProcesses
from nodes.launch.rehearsal import rehearse
from nodes.launch.run_keys import RunKeys, take_secret
from nodes.launch.shared_devices import SharedDevices
from nodes.node_process import run_node
from nodes.records import Records
from nodes.timeline import Timeline
from nodes.warm_up import warm_up
from protocols import registry

if TYPE_CHECKING:
    from netem.capture import Capture
    from netem.traffic.background import BackgroundTraffic

_START_ORDER = ("cloud", "edge", "client")
_SERVERS = ("cloud", "edge")


def main(directories: list[str]) -> None:
    """Run the plan in the run directory; the status file in the spool says how it ended."""
    run_dir, spool = Path(directories[0]), Spool(Path(directories[1]))
    files = RunDirectory(run_dir)
    plan = Plan.from_json(files.plan.read_text())
    plugins.bring_copies(files.plugins, of=(registry.PROTOCOLS.kind, plan.protocol))
    registry.method(plan.protocol)
    records = Records(plan, run_dir, spool)
    launch = Launch(plan, run_dir, spool, records)
    try:
        try:
            launch.run()
        finally:
            # Before the last status: after it, the runner does not wait for us any longer.
            launch.write_varying()
        records.write_status(status.Done())
    except Exception as error:
        kind = "" if isinstance(error, NodeFailed) else f"{type(error).__name__}: "
        traceback.print_exc()
        records.write_status(status.Failed(error=f"{kind}{error}"))
    finally:
        launch.end()


class Launch:
    """One run, from building its network to taking it down.

    `processes` exist once the network is up; a timeline and background traffic only if the plan
    has them.
    """

    processes: NodeProcesses

    def __init__(self, plan: Plan, run_dir: Path, spool: Spool, records: Records) -> None:
        self.plan, self.run_dir, self.spool, self.records = plan, run_dir, spool, records
        self.network: Any = None
        self.keys: RunKeys | None = None  # made once the nodes are forked: none has all of them
        self.timeline: Timeline | None = None
        self.background: BackgroundTraffic | None = None
        self.captures: list[Capture] = []
        self.rounds = GlobalRounds(plan, records, self._on_time_zero, self._count_links)

    def run(self) -> None:
        """Do everything, in order, until all nodes are done."""
        began = time.monotonic()
        self.records.write_status(status.BuildingNetwork(nodes=len(self.plan.nodes)))
        self._build()
        if self.spool.interactive.exists():
            self._command_line()
        up = time.monotonic()
        self.records.write_status(status.MeasuringLinks(seconds=up - began))
        if self.plan.pause == "sleep":
            # Workers that load torch keep the host busy, and that would be measured as delay.
            self._wait_for_workers()
        self.records.write_probes(probe_links(self.plan, self.processes))
        self.network.allow_large_packets()
        probed = time.monotonic()
        self.records.write_status(status.StartingNodes(seconds=probed - up))
        self._start_captures()
        self._start_nodes()
        self._wait_for_workers()
        self.records.write_status(status.Training(seconds=time.monotonic() - probed))
        if self.plan.pause != "sleep":
            # At the instant at which a round ends, its counters are read before the next one's
            # models are sent. Left to the scheduler, that may depend on how busy the host was.
            syscalls.run_in_order_of_waking(before_others=True)
        self._count_links(0)
        for name in self.plan.tops:
            self.processes.order(name, Go())
        self._follow_until(Done, {node.name for node in self.plan.nodes}, deadline=None)

    def write_varying(self) -> None:
        """Record what became of traces and background traffic, if there were any."""
        if self.timeline or self.background:
            traces = self.timeline.varying.report() if self.timeline else []
            flows = self.background.report() if self.background else []
            self.records.write_varying(traces=traces, traffic=flows)

    def end(self) -> None:
        """Take the network down, if it ever was up."""
        for capture in self.captures:
            capture.stop()
        if self.background is not None:
            self.background.stop()
        if self.network is not None:
            self.network.stop()

    def _build(self) -> None:
        from netem.network import Network
        from netem.traffic.background import BackgroundTraffic

        warm_up()
        gc.collect()
        gc.freeze()  # the collector would touch, and so copy, every page in every child
        if self.plan.pause != "sleep":
            syscalls.let_kernel_threads_run_first()
        rehearse(self.plan.encryption)
        self.network = Network(self.plan, self._run_node)
        if self.plan.encryption:
            self.keys = RunKeys(self.plan, take_secret(self.spool))
        self.processes = NodeProcesses(
            self.plan, self.network, self.records, self._on_word, self.keys
        )
        self.devices = SharedDevices(self.plan, self.processes.say)
        if self.plan.moves or self.plan.timeline or self.plan.traces:
            links = self.network.links
            self.timeline = Timeline(self.plan, links, self.processes, self._record)
        if self.plan.traffic:
            self.background = BackgroundTraffic(self.plan, self.network)

    def _run_node(self, name: str, line: socket.socket) -> None:
        """Be a node: called in the process of its host, which may be a fork with all keys."""
        if self.keys is not None:
            self.keys.forget()
        run_node(self.plan.node(name), self.plan, self.run_dir, self.spool, Control(line))

    def _command_line(self) -> None:
        """Stop in Mininet's own CLI until its user leaves it; then the run goes on."""
        from mininet.cli import CLI

        print("Mininet's CLI; `exit` goes on with the run")
        CLI(self.network.mininet)

    def _start_captures(self) -> None:
        """Capture what crosses the links that were asked for, from the first packet of training."""
        if not self.spool.captures.exists():
            return
        from netem.capture import Capture

        files = RunDirectory(self.run_dir)
        for name in self.spool.captures.read_text().split():
            port = self.network.links[name].intf2.name
            self.captures.append(Capture(port, files.capture(name)))

    def _start_nodes(self) -> None:
        """Start servers before those that join them, and wait until everybody is ready."""
        deadline = time.monotonic() + 2 * self.plan.limits.join
        for role in _START_ORDER:
            names = [node.name for node in self.plan.nodes if node.role == role]
            for name in names:
                self.processes.start(name)
            if role in _SERVERS:
                self._follow_until(Bound, set(names), deadline)
        self._follow_until(Ready, {node.name for node in self.plan.nodes}, deadline)

    def _wait_for_workers(self) -> None:
        """Wait until the pool has loaded torch and the data: that is not training time.

        The runner bounds this wait: on the virtual clock no time passes in here meanwhile.
        """
        for _ in make_pauses(self.plan, self.spool, "launcher")(math.inf):
            if self.spool.workers_ready.exists():
                return

    def _follow_until(self, kind: type[Word], names: set[str], deadline: float | None) -> None:
        """Handle what nodes say, and the timeline, until all these nodes have said that word."""
        have_said = self.processes.have_said(kind)
        while not names <= have_said | self.processes.gone:
            left = None if deadline is None else deadline - time.monotonic()
            due = self.timeline.seconds_left() if self.timeline else None
            readable = self.processes.wait_readable(left if due is None else due)
            if self.timeline:
                self.timeline.advance()
            if not readable and left is not None and left <= 0:
                few = ", ".join(sorted(names - have_said)[:5])
                raise NodeFailed(f"not {kind.word} in time: {few}; raise limits.join")
            self.processes.read(readable)
            self.devices.lost(self.processes.gone)

    def _on_word(self, name: str, said: Word) -> None:
        if isinstance(said, Events):
            self.records.add_events(said.events)
        elif isinstance(said, RoundEnded):
            self.rounds.ended(name, said.round, said.end)
        elif isinstance(said, Occupy):
            self.devices.occupied(name, said)
        elif isinstance(said, Vacate):
            self.devices.vacated(name, said)
        elif self.timeline and self.plan.moves:
            self._tell_clients(name, said, self.timeline)

    def _tell_clients(self, name: str, said: Word, timeline: Timeline) -> None:
        """Where clients come and go, tell them which servers take joins, and when all is over."""
        if self.plan.node(name).children and isinstance(said, Bound):
            timeline.server_takes_joins(name)
        elif self.plan.node(name).children and isinstance(said, Done):
            timeline.server_finished(name)
        if set(self.plan.tops) <= self.processes.have_said(Done):
            for node in self.plan.nodes:
                if node.role == "client" and node.name not in self.processes.gone:
                    self.processes.say(node.name, Stop())

    def _on_time_zero(self, zero: float) -> None:
        if self.timeline:
            self.timeline.begin(zero)
        if self.background:
            self.background.begin(zero)

    def _count_links(self, round: int) -> None:
        """Record what the links have carried by now, and how much of it beside the training."""
        background = self.background.bytes_carried() if self.background else Counter()
        self.records.write_links(round, self.network.counters(), background)

    def _record(
        self, node: str, phase: Phase, start: float, end: float, **details: Unpack[Details]
    ) -> None:
        """Record what the timeline did, in seconds from time zero."""
        event: EventFields = {
            "node": node,
            "phase": phase,
            "round": self.rounds.current,
            "start": start,
            "end": end,
            **details,
        }
        self.records.write_events([event])


if __name__ == "__main__":
    main(sys.argv[1:])
