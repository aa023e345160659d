"""A whole run by the launcher, its nodes as processes on this machine without a network between."""

import dataclasses
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from contracts.messages import Kind
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from contracts.training import Pending, Result, Task
from netem import probe
from netem.counters import LinkCounters
from nodes import launcher, node_process
from nodes.launch import link_probes
from nodes.parent import Parent
from nodes.rounds import RoundServer
from protocols.wire import Message, write_file
from tests.support.lines import free_port
from tests.support.scenario_trees import planned, star_scenario
from tests.support.stars import model

ProcessMain = Callable[[str, socket.socket], None]


class Host:
    """A process with a control line."""

    def __init__(self, name: str, process_main: ProcessMain) -> None:
        self._name, self._process_main = name, process_main
        self.restart()

    def restart(self) -> None:
        self.control, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self.control.close()
            code = 1
            try:
                self._process_main(self._name, theirs)
                code = 0
            finally:
                os._exit(code)
        theirs.close()

    def crash(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Link:
    def set_enabled(self, enabled: bool) -> None: ...


class Network:
    """Hosts that reach each other over the loopback interface."""

    made: ClassVar[list["Network"]] = []

    def __init__(self, plan: Plan, process_main: ProcessMain) -> None:
        self._plan = plan
        self.links = {link.name: Link() for link in plan.links}
        self._hosts = {node.name: Host(node.name, process_main) for node in plan.nodes}
        self.made.append(self)

    def host(self, name: str) -> Host:
        return self._hosts[name]

    def allow_large_packets(self) -> None:
        """The loopback interface has them anyway."""

    def counters(self) -> dict[str, LinkCounters]:
        return {link.name: LinkCounters() for link in self._plan.links}

    def stop(self) -> None:
        for host in self._hosts.values():
            try:
                host.crash()
            except (ProcessLookupError, ChildProcessError):
                continue  # it has ended by itself


class AtOnce:
    """A trainer that gives back the model it was given."""

    samples: ClassVar[int] = 10  # of every client

    def submit(self, task: Task) -> Pending:
        self._result = Result(
            task.tensors, samples=self.samples, steps=1, loss=0.5, host_seconds=0.0
        )
        return self

    def result(self, deadline_seconds: float) -> Result:
        return self._result

    def close(self) -> None: ...


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Any]]]:
    """Runs a star with a few clients; returns the records of status.jsonl."""
    stub = types.ModuleType("netem.network")
    monkeypatch.setattr(stub, "Network", Network, raising=False)
    monkeypatch.setitem(sys.modules, "netem.network", stub)
    monkeypatch.setattr(node_process, "make_trainer", lambda *_: AtOnce())
    # Ports of this test's own, since all nodes share one network namespace with other tests.
    port = free_port()
    monkeypatch.setattr(RoundServer.__init__, "__defaults__", (port, None, False, None, None))
    monkeypatch.setattr(Parent.__init__, "__defaults__", (port, None, None, None))
    monkeypatch.setattr(probe, "PORT", free_port())
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(launcher, "rehearse", lambda _: None)  # it makes a network namespace

    def run(
        seconds_per_step: float = 0.0, workers_load_seconds: float = 0.0, **sections: Any
    ) -> list[Any]:
        limits = {"join": "5s", "round": "5s", **sections.pop("limits", {})}
        plan = planned(star_scenario(clients=2, limits=limits, **sections))
        local = [
            dataclasses.replace(
                node,
                parent_address=node.parent and "127.0.0.1",
                visits=tuple((name, "127.0.0.1") for name, _ in node.visits),
                addresses=dict.fromkeys(node.addresses, "127.0.0.1"),
                seconds_per_step=seconds_per_step,
                samples=AtOnce.samples,
            )
            for node in plan.nodes
        ]
        plan = dataclasses.replace(plan, nodes=tuple(local), pause="sleep")
        spool, files = Spool(tmp_path / "spool"), RunDirectory(tmp_path)
        spool.create()
        # Another process, since a thread would be there while the hosts are forked.
        script = 'sleep "$1"; exec touch "$2"'
        arguments = [str(workers_load_seconds), str(spool.workers_ready)]
        loading = subprocess.Popen(["sh", "-c", script, "sh", *arguments])
        files.plan.write_text(plan.to_json())
        write_file(files.initial_model, Message(Kind.INITIAL, "metronome", 0, {}, model(0)))
        launcher.main([str(tmp_path), str(spool.root)])
        assert loading.wait(10) == 0
        return [json.loads(line) for line in spool.status.read_text().splitlines()]

    Network.made.clear()
    yield run
    for network in Network.made:
        network.stop()


def phases(run_dir: Path, *kinds: str) -> list[tuple[str, str, int]]:
    lines = RunDirectory(run_dir).events.read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [(e["node"], e["phase"], e["round"]) for e in events if e["phase"] in kinds]


def test_a_run_goes_from_the_network_to_the_last_round(
    launch: Callable[..., list[Any]], tmp_path: Path
) -> None:
    said = launch()

    assert [line["phase"] for line in said] == [
        *("network", "probing", "joining", "training", "round", "round", "round", "done"),
    ]
    assert phases(tmp_path, "round") == [("cloud", "round", 1), ("cloud", "round", 2)]
    assert RunDirectory(tmp_path).final_model("cloud", 1).exists()
    assert len(json.loads(RunDirectory(tmp_path).probes.read_text())) == 1
    rows = RunDirectory(tmp_path).links.read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == sorted(["0", "1", "2"] * 3)


def test_on_the_wall_clock_links_are_measured_once_the_workers_have_loaded(
    launch: Callable[..., list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []

    def observed(*arguments: Any) -> list[dict[str, Any]]:
        loaded.append(Spool(tmp_path / "spool").workers_ready.exists())
        return link_probes.probe_links(*arguments)

    monkeypatch.setattr(launcher, "probe_links", observed)

    said = launch(workers_load_seconds=1.0)

    assert loaded == [True]
    assert said[-1] == {"phase": "done"}


def test_a_client_that_crashes_and_restarts_joins_again(
    launch: Callable[..., list[Any]], tmp_path: Path
) -> None:
    timeline = [
        {"at": "250ms", "event": "crash", "node": "client2"},
        {"at": "500ms", "event": "restart", "node": "client2"},
    ]

    said = launch(seconds_per_step=0.1, timeline=timeline, protocol={"name": "fedavg", "rounds": 8})

    assert said[-1] == {"phase": "done"}
    happened = phases(tmp_path, "crash", "restart", "joined")
    assert [(node, phase) for node, phase, _ in happened] == [
        *(("client2", "crash"), ("client2", "restart"), ("client2", "joined")),
    ]


def test_a_node_that_fails_ends_the_run_by_name(
    launch: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: AtOnce, task: Task) -> Pending:
        assert not np.any(task.tensors["bias"]), "only zeros come from this trainer"
        raise RuntimeError("no more training")

    monkeypatch.setattr(AtOnce, "submit", fail)

    said = launch()

    assert said[-1]["phase"] == "failed"
    assert said[-1]["error"].endswith(": RuntimeError: no more training")


def test_a_quorum_goes_on_without_a_client_that_failed(
    launch: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = AtOnce.submit

    def one_fails(self: AtOnce, task: Task) -> Pending:
        if task.job.startswith("client2"):
            raise RuntimeError("no more training")
        return submit(self, task)

    monkeypatch.setattr(AtOnce, "submit", one_fails)

    said = launch(limits={"round": "500ms", "late": "quorum", "quorum": 0.5})

    assert [line["node"] for line in said if line["phase"] == "lost"] == ["client2"]
    assert said[-1] == {"phase": "done"}
