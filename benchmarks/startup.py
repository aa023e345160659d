"""Compares the start-up of a large tree with that of stock Mininet, in one run, as a ratio.

    python -m benchmarks.startup [--institutions 5] [--clients 40] [--ours-only]

Ours ends when every host has shaped links and its node process has joined. Stock Mininet (TCLink
and LinuxBridge, of Debian's bridge-utils) only builds hosts and links, in the same kind of guest.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measured_run import processor_seconds
from contracts import status
from contracts.messages import Kind
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from netem.backends.guest import Guest
from netem.backends.process import LAUNCHER_MODULE
from netem.spool import LockedSpool, clear_abandoned
from protocols.wire import Message, write_file
from runner.json_lines import tail
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts

PROCESSOR = "processor"
_PATIENCE_SECONDS = 1200.0


def tree(institutions: int, clients: int) -> Plan:
    """Plan a tree of that size, with a model too small to matter."""
    scenario = loader.check(
        {
            "name": "startup",
            "task": {"dataset": "tiny", "model": "tiny-mlp"},
            "protocol": {"name": "fedavg", "rounds": 1},
            "topology": {
                "kind": "tree",
                "institutions": institutions,
                "clients_per_institution": clients,
            },
            "links": {
                "client-edge": {"rate": "100mbit", "delay": "2ms"},
                "edge-cloud": {"rate": "20mbit", "delay": "20ms"},
            },
            "devices": {"client": "instant", "edge": "instant", "cloud": "instant"},
            "limits": {"join": "10min"},
        }
    )
    samples = [1] * (institutions * clients)
    facts = TaskFacts(samples=samples, flops_per_step=1, tensors={"w": ("float32", (1,))})
    return planner.plan(scenario, facts, run="startup", trainer="pool")


def measure(plan: Plan, module: str, last_phase: str) -> dict[str, Any]:
    """Boot a guest, run this module there, and return the seconds of each phase so far.

    It ends as soon as `last_phase` is reported; `PROCESSOR` is the processor time used until then,
    by all processes, which depends less on what else the host does.
    """
    with tempfile.TemporaryDirectory(prefix="metronome-startup-") as folder:
        run_dir = Path(folder)
        RunDirectory(run_dir).plan.write_text(plan.to_json())
        write_file(
            RunDirectory(run_dir).initial_model, Message(Kind.INITIAL, "benchmark", 0, {}, {})
        )
        clear_abandoned()
        guest = Guest("wall", seed=1, module=module)
        guest.prepare(plan, print)
        spool = LockedSpool("startup")
        spool.workers_ready.touch()  # this benchmark has no workers
        process = guest.start(run_dir, spool, run_dir / "guest.log", interactive=False)
        spool.remember_session(process.pid)
        lines = tail(spool.status)
        phases: dict[str, float] = {}
        deadline = time.monotonic() + _PATIENCE_SECONDS
        try:
            while time.monotonic() < deadline:
                for record in map(status.parse, lines()):
                    phases[record.phase] = getattr(record, "seconds", 0.0)
                    if record.phase == last_phase:
                        return phases | {PROCESSOR: processor_seconds()}
                if process.poll() is not None:
                    break
                time.sleep(0.1)
            raise RuntimeError((run_dir / "guest.log").read_text(errors="replace")[-2000:])
        finally:
            guest.end(process)
            spool.remove()


def main() -> None:
    """Measure both and print their times and the ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--institutions", type=int, default=5)
    options.add_argument("--clients", type=int, default=40)
    options.add_argument("--ours-only", action="store_true")
    chosen = options.parse_args()
    if not chosen.ours_only and shutil.which("brctl") is None:
        options.error("stock Mininet's LinuxBridge needs Debian's bridge-utils; or use --ours-only")
    plan = tree(chosen.institutions, chosen.clients)
    phases = measure(plan, LAUNCHER_MODULE, "training")
    ours = phases["probing"] + phases["training"]
    print(f"hosts: {len(plan.nodes)}")
    print(
        f"ours: network {phases['probing']:.1f} s, nodes joined {phases['training']:.1f} s more; "
        f"{phases[PROCESSOR]:.1f} s of processor time",
        flush=True,
    )
    if not chosen.ours_only:
        built = measure(plan, "benchmarks.stock_mininet", "built")
        stock = built["built"]
        print(f"stock Mininet, hosts and links alone: {stock:.1f} s; ", end="")
        print(f"{built[PROCESSOR]:.1f} s of processor time")
        print(f"ratio stock / ours: {stock / ours:.2f}; of processor time: ", end="")
        print(f"{built[PROCESSOR] / phases[PROCESSOR]:.2f}")
    print(json.dumps(phases))


if __name__ == "__main__":
    main()
