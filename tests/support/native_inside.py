"""Runs in a guest instead of the launcher: native runs, as root on a kernel that has netem.

To them the guest is just a machine, and its virtual clock the wall clock. So computing takes no
time, and whatever is measured is the same on every host, however busy.
"""

import contextlib
import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil

from netem import syscalls
from tests.support import emulated
from tests.support.waiting import wait_until

NATIVE = ("--backend", "native", "--clock", "wall", "--set", "compute.workers=1")
TASK = """
seed = 3
[task]
dataset = "tiny"
model = "tiny-mlp"
samples_per_client = 20
learning_rate = 0.05
[devices]
client = { speed = "1e12", overhead = "50ms", memory = "1gb" }
edge = "laptop-core"
"""
TRACE_STEP, MENDED, MOVED = 3.0, 4.0, 2.0  # seconds: when things change
# A trace that the clients' links follow, and a way to the cloud that is bad until the timeline
# mends it.
TREE = f"""
name = "inside-tree"
{TASK}
cloud = "droplet-1gb"
[protocol]
name = "fedavg"
rounds = 4
[topology]
kind = "tree"
institutions = 1
clients_per_institution = 2
[links]
client-edge = {{ trace = "{{trace}}", delay = "10ms" }}
edge-cloud = {{ rate = "4mbit", delay = "30ms", jitter = "5ms", loss = "4%" }}
[[timeline]]
at = "{MENDED}s"
event = "link"
link = "inst1-wan"
rate = "1mbit"
delay = "5ms"
"""
TRACE = f"time,rate\n0,2mbit\n{TRACE_STEP},1mbit\n60,1mbit\n"
PINGS = 200
CELLS = f"""
name = "inside-cells"
{TASK}
[protocol]
name = "multicell"
rounds = 500
[topology]
kind = "cells"
cells = 2
alone = 1
overlap = 0
[links]
client-edge = {{ rate = "1mbit", delay = "10ms" }}
[[timeline]]
at = "{MOVED}s"
event = "handover"
client = "client1"
to = [2]
"""


def main(directories: list[str]) -> None:
    """Run all of it, with the run directories where the host can read them."""
    place = Path(directories[0])
    syscalls.mount("tmpfs", "/dev/shm", "tmpfs")
    (place / "trace.csv").write_text(TRACE)
    tree = TREE.replace("{trace}", str(place / "trace.csv"))
    runs: dict[str, Callable[[Path], dict[str, object]]] = {
        "killed": lambda folder: _end_early(CELLS, folder, signal.SIGKILL),
        "tree": lambda folder: _run_with_pings(tree, folder),
        "interrupted": lambda folder: _end_early(CELLS, folder, signal.SIGINT),
    }
    at_first, found = machine(), {}
    for name, run in runs.items():
        (place / name).mkdir()
        found[name] = run(place / name) | {"left": _left(at_first)}
        (place / "found.json").write_text(json.dumps(found))


def machine() -> set[str]:
    """Return all that a run might leave on a machine on which nothing else happens."""
    found = emulated.leftovers()
    for process in psutil.process_iter(["status", "cmdline", "name"]):
        if process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        if process.info["cmdline"]:  # the kernel's own threads have none
            found.add(f"process {process.pid} {process.info['name']}")
        for kind in ("net", "pid", "mnt"):
            with contextlib.suppress(OSError):
                found.add(f"namespace {os.readlink(f'/proc/{process.pid}/ns/{kind}')}")
    return found


def _left(before: set[str]) -> list[str]:
    """Return what is on the machine and was not before; dying processes are given a moment."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: machine() == before, seconds=2)
    return sorted(machine() - before)


def _end_early(scenario: str, folder: Path, how: signal.Signals) -> dict[str, object]:
    """Start a run, and end its runner once a client has moved and has trained in its new cell."""
    process = emulated.start(emulated.command(scenario, folder, *NATIVE), folder)
    events = folder / "run" / "events.jsonl"
    trained = '{"node": "client1", "phase": "upload", "round": 3,'
    wait_until(
        lambda: process.poll() is not None or (events.exists() and trained in events.read_text())
    )
    process.send_signal(how)
    output, _ = process.communicate(timeout=60)
    return {"code": process.returncode, "output": output}


def _run_with_pings(scenario: str, folder: Path) -> dict[str, object]:
    """Do a whole run, and before its training let Mininet's command line measure a link."""
    ping = f"inst1 ping -q -c {PINGS} -i 0.02 cloud\n"
    return _answer(emulated.command(scenario, folder, *NATIVE, "--cli"), [ping, "exit\n"], folder)


def _answer(words: list[str], answers: list[str], folder: Path) -> dict[str, object]:
    """Run a command in a terminal and answer each of Mininet's prompts."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words,
        env=emulated.environment() | {"TERM": "dumb"},  # without moving progress bars
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen, given = "", 0
    with contextlib.suppress(OSError):  # the terminal is gone when the last process has left it
        while part := os.read(ours, 4096):
            screen += part.decode(errors="replace")
            if given < len(answers) and screen.count("mininet>") > given:
                os.write(ours, answers[given].encode())
                given += 1
    os.close(ours)
    return {"code": process.wait(60), "output": screen}
