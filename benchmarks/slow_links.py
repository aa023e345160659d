"""Measures what many clients on slow links cost the host, on the virtual clock.

    python -m benchmarks.slow_links [--link 3g] [--clients 20] [--rounds 20] [--out DIR]

A star of clients with LeNet-5 whose devices take no time, ten samples each: the guest does little
but move packets. Counted are the guest's own processes. The first two rounds, in which every node
uses its code and memory for the first time, are told apart from the rest; the last one, after which
nodes end, does not count. With --out the records stay, to compare them with another run's byte for
byte.
"""

import argparse
import csv
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks import measured_run
from contracts.run_directory import RunDirectory

SCENARIO: dict[str, Any] = {
    "name": "slow-links",
    "clock": "virtual",
    "task": {
        "dataset": "fashionmnist",
        "model": "lenet5",
        "partition": "iid",
        "samples_per_client": 10,
        "batch_size": 10,
        "learning_rate": 0.01,
    },
    "devices": {"client": "instant", "cloud": "instant"},
}
_WARM = 2  # rounds after which every node has done everything before
_GUEST = "linux"  # the guest's kernel, and each of its processes, on the host


@dataclass(frozen=True)
class Usage:
    """What the guest's processes have used up to a moment of the host's clock."""

    moment: float
    kernel: float  # processor seconds of the guest's kernel
    processes: float  # and of all its processes
    workers: float  # and of what trains on the host
    evaluator: float  # and of what evaluates there, off the clock
    switches: int  # how often the host took the processor from the guest's

    @classmethod
    def now(cls) -> "Usage":
        """Add up the processes below this one."""
        kernel = processes = workers = evaluator = 0.0
        switches = 0
        for process in psutil.Process().children(recursive=True):
            try:
                seconds = sum(process.cpu_times()[:2])
                if process.name() != _GUEST:
                    evaluates = "learning.evaluation.evaluator" in process.cmdline()
                    evaluator += seconds * evaluates
                    workers += seconds * (not evaluates)
                    continue
                switches += sum(process.num_ctx_switches())
                is_kernel = process.parent().name() != _GUEST
            except psutil.NoSuchProcess:
                continue
            kernel += seconds * is_kernel
            processes += seconds * (not is_kernel)
        return cls(time.monotonic(), kernel, processes, workers, evaluator, switches)


def packets(run_dir: Path, rounds: range) -> int:
    """Count the packets that crossed the clients' links in these rounds."""
    with RunDirectory(run_dir).links.open() as file:
        rows = [row for row in csv.DictReader(file) if row["tier"] == "client-cloud"]
    return sum(
        int(row["packets_up"]) + int(row["packets_down"])
        for row in rows
        if int(row["round"]) in rounds
    )


def describe(first: Usage, last: Usage, carried: int) -> str:
    """Say what was used from one moment to another, in which so many packets were carried."""
    kernel, processes = last.kernel - first.kernel, last.processes - first.processes
    outside = last.workers - first.workers + last.evaluator - first.evaluator
    return (
        f"processor {kernel + processes:.2f} s (kernel {kernel:.2f}, processes {processes:.2f}), "
        f"workers and evaluator {outside:.2f} s, "
        f"by the clock {last.moment - first.moment:.2f} s; {carried} packets, "
        f"{1e6 * (kernel + processes) / carried:.2f} us and "
        f"{(last.switches - first.switches) / carried:.2f} switches of the host each"
    )


def main() -> None:
    """Run it once and print processor time, time on the clock and switches, also for a packet."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--link", default="3g", help="a link profile")
    options.add_argument("--clients", type=int, default=20)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--data", type=Path, help="data sets in torchvision's layout")
    options.add_argument("--out", type=Path, help="keep the run's directory here")
    chosen = options.parse_args()
    settings = (
        SCENARIO
        | {"protocol": {"name": "fedavg", "rounds": chosen.rounds}}
        | {"topology": {"kind": "star", "clients": chosen.clients}}
        | {"links": {"client-cloud": chosen.link}}
    )
    with tempfile.TemporaryDirectory(prefix="metronome-slow-links-") as folder:
        run_dir = chosen.out or Path(folder, "run")
        usage = measured_run.execute(settings, run_dir, Usage.now, 1, chosen.data).noted
        early = packets(run_dir, range(1, _WARM + 1))
        late = packets(run_dir, range(_WARM + 1, chosen.rounds))
    start, warm, end = usage[0], usage[_WARM], usage[-2]
    print(f"{chosen.clients} clients, {chosen.link}, {chosen.rounds} rounds; ", end="")
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"first {_WARM} rounds: {describe(start, warm, early)}")
    print(f"rounds {_WARM + 1} to {chosen.rounds - 1}: {describe(warm, end, late)}")


if __name__ == "__main__":
    main()
