"""Runs Flower beside us: as a federation over its gRPC, or in its simulation engine."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measured_run import Moment
from benchmarks.peers import environment
from benchmarks.peers.names import ROUNDS, RUN

_PATIENCE_SECONDS = 900.0
_END_SECONDS = 20.0
APP = """
[project]
name = "peers"
version = "1.0.0"
dependencies = []
[tool.flwr.app]
publisher = "metronome"
[tool.flwr.app.components]
serverapp = "peer_app:server"
clientapp = "peer_app:client"
"""
# Flower looks for both names in the file's text, and finds them in `__all__`.
ENTRY = """
from benchmarks.peers.flower_app import client, server

__all__ = ["client", "server"]
"""
CONNECTION = """
[superlink]
default = "here"
[superlink.here]
address = "127.0.0.1:{port}"
insecure = true
"""


def simulation(commands: Path, run_dir: Path) -> list[Moment]:
    """Hold the rounds in Flower's simulation engine; return a moment from each round's end."""
    with _processes(commands, run_dir) as started:
        started.start("simulation", [str(commands / "python"), "-m", "benchmarks.peers.simulation"])
        return started.follow()


def federation(commands: Path, clients: int, run_dir: Path) -> list[Moment]:
    """Hold them between a SuperLink and SuperNodes on loopback."""
    ports = free_ports(3 + clients)
    fleet, control = (f"127.0.0.1:{port}" for port in ports[:2])
    with _processes(commands, run_dir) as started:
        started.start(
            "superlink",
            [
                *("flower-superlink", "--insecure", "--disable-runtime-dependency-installation"),
                *("--fleet-api-address", fleet, "--control-api-address", control),
                *("--host", "127.0.0.1", "--port", str(ports[2])),
            ],
        )
        for index, port in enumerate(ports[3:]):
            started.start(
                f"supernode{index}",
                [
                    *("flower-supernode", "--insecure", "--superlink", fleet),
                    *("--host", "127.0.0.1", "--port", str(port)),
                    *("--node-config", f"partition-id={index}"),
                ],
            )
        started.submit(ports[1])
        return started.follow()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody has at the moment."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


class Processes:
    """Flower's processes for one run, each with a log in the run directory."""

    def __init__(self, commands: Path, run_dir: Path) -> None:
        self._home = run_dir / "flower"
        self._home.mkdir()
        self._variables = environment.variables(commands, self._home) | {RUN: str(run_dir)}
        self._rounds = run_dir / ROUNDS
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process in a group of its own."""
        with (self._home / f"{name}.log").open("wb") as log:
            self._running.append(
                subprocess.Popen(
                    command,
                    env=self._variables,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def submit(self, port: int) -> None:
        """Hand the app to the SuperLink, as soon as it listens."""
        (self._home / "config.toml").write_text(CONNECTION.format(port=port))
        app = self._home / "app"
        app.mkdir()
        (app / "pyproject.toml").write_text(APP)
        (app / "peer_app.py").write_text(ENTRY)
        _await_listener(port)
        self.start("run", ["flwr", "run", str(app), "here"])

    def follow(self) -> list[Moment]:
        """Note the moment at which each round has ended, until the last has."""
        moments: list[Moment] = []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        rounds = 0
        while not (rounds and len(moments) > rounds):
            failed = any(process.poll() not in (None, 0) for process in self._running)
            if failed or time.monotonic() > deadline:
                raise RuntimeError(f"Flower did not get to its end; its logs: {self._said()}")
            lines = self._rounds.read_text().splitlines() if self._rounds.exists() else []
            if len(lines) > len(moments):
                moments.append(Moment.now())
                rounds = int(lines[-1].split("/")[1])
            time.sleep(0.01)
        return moments

    def end(self) -> None:
        """End them all, with what they have started."""
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _said(self) -> str:
        logs = sorted(self._home.glob("*.log"))
        return "\n".join(f"{log.stem}: {log.read_text(errors='replace')[-800:]}" for log in logs)


@contextlib.contextmanager
def _processes(commands: Path, run_dir: Path) -> Iterator[Processes]:
    started = Processes(commands, run_dir)
    try:
        yield started
    finally:
        started.end()


def _await_listener(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)
    raise RuntimeError(f"nobody listens on port {port}")
