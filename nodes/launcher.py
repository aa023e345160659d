"""Inside the guest (or the private namespace of a native run): network up, nodes up, records.

The same code on both backends. It is the parent of every node: a node that dies is noticed at
once, and all nodes die with it.
"""

import contextlib
import gc
import os
import selectors
import socket
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

# Imported before the hosts are forked, so that every node has them without reading a file.
import msgpack  # noqa: F401
import numpy  # noqa: F401
import zmq  # noqa: F401

from contracts import status
from contracts.control import (
    Bound,
    Done,
    Events,
    Failed,
    Go,
    Listen,
    Listening,
    Measure,
    Measured,
    Ready,
    RoundEnded,
    Start,
    Stop,
    Word,
)
from contracts.events import Details, EventFields, Phase
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from netem import probe
from nodes import client, cloud, edge  # noqa: F401
from nodes.compute import waits
from nodes.control import Control
from nodes.node_process import live
from nodes.records import Records
from nodes.timeline import Timeline
from nodes.warm_up import warm_up
from protocols import registry

if TYPE_CHECKING:
    from netem.traffic.background import Background

_START_ORDER = ("cloud", "edge", "client")
_SERVERS = ("cloud", "edge")
_WORKERS_SECONDS = 300.0

Answer = TypeVar("Answer", bound=Word)


class NodeFailed(Exception):
    """A node ended or reported an error; the sentence names it."""


def main(directories: list[str]) -> None:
    """Run the plan that lies in the run directory; the outcome stands in the status file."""
    run_dir, spool = Path(directories[0]), Spool(Path(directories[1]))
    plan = Plan.from_json(RunDirectory(run_dir).plan.read_text())
    registry.method(plan.protocol)
    records = Records(plan, run_dir, spool)
    launch = Launch(plan, run_dir, spool, records)
    try:
        launch.run()
        records.status(status.Done())
    except Exception as error:
        kind = "" if isinstance(error, NodeFailed) else f"{type(error).__name__}: "
        traceback.print_exc()
        records.status(status.Failed(error=f"{kind}{error}"))
    finally:
        launch.end()


class Launch:
    """One run's network and processes."""

    def __init__(self, plan: Plan, run_dir: Path, spool: Spool, records: Records) -> None:
        self.plan, self.run_dir, self.spool, self.records = plan, run_dir, spool, records
        self.network: Any = None
        self.timeline: Timeline | None = None
        self.background: Background | None = None
        self._selector = selectors.DefaultSelector()
        self._controls: dict[str, Control] = {}
        self._said: dict[type[Word], set[str]] = {Bound: set(), Ready: set(), Done: set()}
        self._gone: set[str] = set()
        self._ended: dict[int, dict[str, float]] = {}  # by round, who has ended it when
        self._lives: dict[str, int] = {}  # by node, how often it was restarted
        self._round_start = 0.0
        self._round = 1  # the one under way

    def run(self) -> None:
        """Everything, in order."""
        began = time.monotonic()
        self.records.status(status.BuildingNetwork(nodes=len(self.plan.nodes)))
        self._build()
        if self.spool.interactive.exists():
            self._command_line()
        up = time.monotonic()
        self.records.status(status.MeasuringLinks(seconds=up - began))
        self.records.probes(self._probe_links())
        probed = time.monotonic()
        self.records.status(status.StartingNodes(seconds=probed - up))
        self._start_nodes()
        self._wait_for_workers()
        self.records.status(status.Training(seconds=time.monotonic() - probed))
        self._count(0)
        for name in self.plan.tops:
            self._controls[name].say(Go())
        self._follow(Done, {node.name for node in self.plan.nodes}, deadline=None)

    def end(self) -> None:
        """Take the network down, if it ever was up."""
        if self.timeline or self.background:
            traces = self.timeline.varying.report() if self.timeline else []
            flows = self.background.report() if self.background else []
            self.records.varying(traces=traces, traffic=flows)
        if self.background is not None:
            self.background.stop()
        if self.network is not None:
            self.network.stop()

    def _build(self) -> None:
        from netem.network import Network
        from netem.traffic.background import Background

        warm_up()
        gc.collect()
        gc.freeze()  # the collector would touch, and so copy, every page in every child
        self.network = Network(self.plan, self._live)
        for node in self.plan.nodes:
            control = self._controls[node.name] = Control(self.network.host(node.name).control)
            self._selector.register(control, selectors.EVENT_READ, node.name)
        if self.plan.timeline or self.plan.walk or self.plan.traces:
            self.timeline = Timeline(self.plan, self.network.links, self)
        if self.plan.traffic:
            self.background = Background(self.plan, self.network)

    def _count(self, round: int) -> None:
        """What the links have carried by now, and how much of it beside the training."""
        background = self.background.carried() if self.background else Counter()
        self.records.links(round, self.network.counters(), background)

    def say(self, node: str, said: Word) -> None:
        """To a node that may have ended meanwhile."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._controls[node].say(said)

    def record(
        self, node: str, phase: Phase, start: float, end: float, **details: Unpack[Details]
    ) -> None:
        """What the timeline did, in seconds from time zero."""
        event: EventFields = {
            "node": node,
            "phase": phase,
            "round": self._round,
            "start": start,
            "end": end,
            **details,
        }
        self.records.timed([event])

    def crash(self, node: str) -> None:
        """The timeline ends a node's process; what it had said by then still counts."""
        if node in self._gone or node in self._said[Done]:
            return
        host, control = self.network.host(node), self._controls[node]
        host.crash()
        self._gone.add(node)
        self._selector.unregister(control)
        with contextlib.suppress(ConnectionError):
            while True:
                self._hear(node, control.read())
        host.control.close()

    def restart(self, node: str) -> None:
        """The timeline starts a node anew that it has ended."""
        host = self.network.host(node)
        host.restart()
        control = self._controls[node] = Control(host.control)
        self._selector.register(control, selectors.EVENT_READ, node)
        self._gone.discard(node)
        self._lives[node] = self._lives.get(node, 0) + 1
        control.say(Start(self._lives[node]))

    def _command_line(self) -> None:
        """Mininet's own CLI, until its user leaves it; then the run goes on."""
        from mininet.cli import CLI

        print("Mininet's CLI; `exit` goes on with the run")
        CLI(self.network.mininet)

    def _live(self, name: str, line: socket.socket) -> None:
        live(self.plan.node(name), self.plan, self.run_dir, self.spool, Control(line))

    def _wait_for_workers(self) -> None:
        """The pool loads torch and the data meanwhile; that must not count as training time."""
        for _ in waits(self.plan, self.spool, "launcher")(_WORKERS_SECONDS):
            if self.spool.workers_ready.exists():
                return
        raise NodeFailed("the workers were not ready in time; see logs/worker-0.log")

    def _probe_links(self) -> list[dict[str, Any]]:
        """Measure one link of every kind that is used, between the hosts that will use it."""
        found = []
        kinds = {(link.tier, link.up, link.down): link for link in reversed(self.plan.links)}
        for link in kinds.values():
            server = self.plan.server_across(link)
            if link.up is None or link.down is None or server is None:
                continue
            address = server.addresses[link.switch]
            self._controls[server.name].say(Listen(address))
            self._answer(server.name, Listening)
            trip = probe.expected_round_trip(link.up, link.down)
            upload, download = (probe.probe_bytes(way, trip) for way in (link.up, link.down))
            self._controls[link.host].say(Measure(address, upload, download))
            found.append(probe.figures(link, self._answer(link.host, Measured)))
        return found

    def _answer(self, name: str, kind: type[Answer]) -> Answer:
        """That node's answer to an order, before any node has started."""
        try:
            return self._controls[name].wait_for(kind)
        except ConnectionError:
            raise NodeFailed(f"{name}: ended while its link was measured; see the log") from None

    def _start_nodes(self) -> None:
        deadline = time.monotonic() + 2 * self.plan.limits.join
        for role in _START_ORDER:
            names = [node.name for node in self.plan.nodes if node.role == role]
            for name in names:
                self._controls[name].say(Start())
            if role in _SERVERS:
                self._follow(Bound, set(names), deadline)
        self._follow(Ready, {node.name for node in self.plan.nodes}, deadline)

    def _follow(self, kind: type[Word], names: set[str], deadline: float | None) -> None:
        """Take in what nodes say until all these have said that word."""
        heard = self._said[kind]
        while not names <= heard | self._gone:
            left = None if deadline is None else deadline - time.monotonic()
            due = self.timeline.seconds_left() if self.timeline else None
            ready = self._selector.select(left if due is None else due)
            if self.timeline:
                self.timeline.advance()
            if not ready and left is not None and left <= 0:
                few = ", ".join(sorted(names - heard)[:5])
                raise NodeFailed(f"not {kind.word} in time: {few}; raise limits.join")
            for key, _ in ready:
                if cast(Control, key.fileobj).fileno() >= 0:  # else it crashed just now
                    self._take_in(key.data)

    def _take_in(self, name: str) -> None:
        try:
            words = self._controls[name].read()
        except ConnectionError:
            self._lost(name)
            return
        self._hear(name, words)

    def _hear(self, name: str, words: list[Word]) -> None:
        for said in words:
            if isinstance(said, Events):
                self.records.events(said.events)
            elif isinstance(said, RoundEnded):
                self._round_ended(name, said.round, said.end)
            elif isinstance(said, Failed):
                self._failed(name, said.error)
            else:
                self._said[type(said)].add(name)
                if self.timeline:
                    self._tell_of(name, said, self.timeline)

    def _tell_of(self, name: str, said: Word, timeline: Timeline) -> None:
        """Where clients come and go, they must know which servers are there."""
        if self.plan.moves and self.plan.node(name).children and isinstance(said, Bound | Done):
            (timeline.returned if isinstance(said, Bound) else timeline.ended)(name)
        if self.plan.moves and set(self.plan.tops) <= self._said[Done]:
            for node in self.plan.nodes:
                if node.role == "client" and node.name not in self._gone:
                    self.say(node.name, Stop())

    def _round_ended(self, name: str, round: int, end: float) -> None:
        """A round is over when every server that nobody is above has ended it."""
        ends = self._ended.setdefault(round, {})
        if name in ends:
            return  # a server that crashed just then has done it again
        ends[name] = end
        if round == 0 and len(ends) == 1:
            self._round_start = end
            self.records.start_at(end)
            if self.timeline:
                self.timeline.begin(end)
            if self.background:
                self.background.begin(end)
        if len(ends) < len(self.plan.tops):
            return
        last, who = max((end, name) for name, end in ends.items())
        if round > 0:
            event: EventFields = {
                "node": who,
                "phase": Phase.ROUND,
                "round": round,
                "start": self._round_start,
                "end": last,
            }
            self.records.events([event])
            self._count(round)
            self._round_start = last
        self._round = round + 1
        self.records.status(status.RoundEnded(round=round, elapsed=self.records.elapsed(last)))

    def _lost(self, name: str) -> None:
        """A control line closed: fine after `done`, a death otherwise."""
        self._selector.unregister(self._controls[name])
        if name not in self._said[Done]:
            code = os.waitstatus_to_exitcode(os.waitpid(self.network.host(name).pid, 0)[1])
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            self._failed(name, f"its process {how}")
        self._gone.add(name)

    def _failed(self, name: str, error: str) -> None:
        """End the run with the node's own words, unless a quorum may go on without a client."""
        if name in self._gone:
            return
        replaceable = self.plan.node(name).role == "client" and name in self._said[Ready]
        if not replaceable or self.plan.limits.late != "quorum":
            raise NodeFailed(f"{name}: {error}")
        self.records.status(status.NodeLost(node=name, error=error))
        self._gone.add(name)


if __name__ == "__main__":
    main(sys.argv[1:])
