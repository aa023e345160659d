"""Real runs for the emulation tests: executes `metronome run` in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from contracts.project import ROOT
from netem.places import candidates

SMALL = """
name = "small"
seed = 3
[task]
dataset = "tiny"
model = "lenet5"
samples_per_client = 100
learning_rate = 0.05
momentum = 0.9
[protocol]
name = "fedavg"
rounds = 2
local_epochs = 2
[topology]
{topology}
[links]
{links}
[devices]
{devices}
"""
TREE = SMALL.format(
    topology='kind = "tree"\ninstitutions = 2\nclients_per_institution = 2',
    links='client-edge = "lan"\nedge-cloud = { rate = "20mbit", delay = "5ms" }',
    devices='client = "laptop-core"\nedge = "laptop-core"\ncloud = "droplet-1gb"',
)
STAR = SMALL.format(
    topology='kind = "star"\nclients = 2',
    links='client-cloud = { rate = "50mbit" }',
    devices='client = "laptop-core"\ncloud = "droplet-1gb"',
)

# What encryption adds to a LeNet-5 of 246,824 bytes: 33 to each of ten tensors and the header.
ENCRYPTION = 11 * 33 / 246_824


@dataclass
class Outcome:
    """How a run ended, and what it left."""

    code: int
    output: str
    directory: Path

    @property
    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / "summary.json").read_text())
        return found

    def events(self, phase: str | None = None) -> list[dict[str, Any]]:
        lines = (self.directory / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if phase in (None, event["phase"])]


def command(scenario: str, folder: Path, *options: str) -> list[str]:
    """Return the command that runs this scenario text, with its run directory inside `folder`."""
    file = folder / "scenario-under-test.toml"
    file.write_text(scenario)
    return named_command(str(file), folder, *options)


def named_command(name: str, folder: Path, *options: str) -> list[str]:
    """Return the command that runs a scenario by name or file."""
    out = ["--out", str(folder / "run")]
    return [sys.executable, "-m", "cli", "run", name, *out, *options]


def resuming(run: Path) -> list[str]:
    """Return the command that goes on with a run."""
    return [sys.executable, "-m", "cli", "resume", str(run)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def environment_at(home: Path) -> dict[str, str]:
    """Return the environment of somebody with this home, and so with a cache of his own."""
    ours = {key: text for key, text in environment().items() if key != "XDG_CACHE_HOME"}
    return ours | {"HOME": str(home)}


def run(scenario: str, folder: Path, *options: str) -> Outcome:
    """Run a scenario text to its end."""
    folder.mkdir(exist_ok=True)
    return finished(command(scenario, folder, *options), folder)


def run_named(name: str, folder: Path, *options: str) -> Outcome:
    """Run a scenario of the library to its end."""
    return finished(named_command(name, folder, *options), folder)


def finished(words: list[str], folder: Path) -> Outcome:
    """Run a command to its end; its run directory is the one inside `folder`."""
    done = subprocess.run(
        words,
        env=environment(),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1100,
    )
    return Outcome(done.returncode, done.stdout + done.stderr, folder / "run")


def start(words: list[str], folder: Path) -> "subprocess.Popen[str]":
    """Start a command, with all of its output in one pipe."""
    return subprocess.Popen(
        words,
        env=environment(),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def leftovers() -> set[str]:
    """Return all that a run might leave: processes, interfaces, namespaces, files, mounts.

    A test compares it before and after.
    """
    found = set()
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(
            mark in words for mark in ("linux.uml", "uml_dir=", "learning.", "nodes.launcher")
        ):
            found.add(f"process {process.pid} {words}")
    found |= {f"interface {name}" for name in psutil.net_if_addrs()}
    found |= {f"file {path}" for path in Path("/dev/shm").iterdir()}
    # Other programs come and go there; what is ours has this name.
    ours = f"metronome-{os.getuid()}-*"
    found |= {f"file {path}" for place in candidates() for path in place.glob(ours)}
    namespaces = Path("/run/netns")
    found |= {f"namespace {path}" for path in namespaces.glob("*")}
    found |= {f"mount {line}" for line in Path("/proc/mounts").read_text().splitlines()}
    return found
