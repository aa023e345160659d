"""Measures what emulation on the virtual clock costs on top of the training itself.

    python -m benchmarks.virtual_speed [--clients 40] [--data DIR]

Five institutions, LeNet-5, 600 samples a client, tau_i = 4, tau_c = 6, institution-cloud links of
20 Mbit/s, one global round.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from contracts.run_directory import RunDirectory

SCENARIO = """
name = "virtual-speed"
clock = "virtual"
[task]
dataset = "fashionmnist"
model = "lenet5"
samples_per_client = 600
shared_samples = true
batch_size = 10
learning_rate = 0.01
[protocol]
name = "fedavg"
rounds = 1
edge_rounds = 4
local_epochs = 6
[topology]
kind = "tree"
institutions = 5
clients_per_institution = {clients}
[links]
client-edge = "lan"
edge-cloud = {{ rate = "20mbit", delay = "20ms" }}
[devices]
client = "gpu-16gb"
edge = "gpu-16gb"
cloud = "droplet-1gb"
[limits]
join = "10min"
"""


def watch(run: "subprocess.Popen[bytes]") -> tuple[int, int]:
    """Wait for the run's end; return the peak memory of its guest and of its other processes.

    The guest's memory is a file in /dev/shm.
    """
    before = shutil.disk_usage("/dev/shm").used
    guest = outside = 0
    while run.poll() is None:
        guest = max(guest, shutil.disk_usage("/dev/shm").used - before)
        with contextlib.suppress(psutil.NoSuchProcess):
            family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
            # The guest's own processes all map the same file.
            pythons = [process for process in family if process.name().startswith("python")]
            outside = max(outside, sum(process.memory_info().rss for process in pythons))
        time.sleep(1)
    if run.returncode != 0:
        raise SystemExit(f"the run failed with code {run.returncode}")
    return guest, outside


def main() -> None:
    """Run the scenario and print its times, their ratio, and the peak memory."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, default=40, help="clients of each institution")
    options.add_argument("--data", help="data sets in torchvision's layout")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="metronome-speed-") as folder:
        file = Path(folder, "virtual-speed.toml")
        file.write_text(SCENARIO.format(clients=chosen.clients))
        command = [sys.executable, "-m", "cli", "run", str(file), "--out", f"{folder}/run"]
        command += ["--data", chosen.data] if chosen.data else []
        guest, outside = watch(subprocess.Popen(command))
        summary = json.loads(RunDirectory(Path(folder, "run")).summary.read_text())
    training, started = summary["host_training_seconds"], summary["host_startup_seconds"]
    in_pool = summary["pool_seconds"] / len(os.sched_getaffinity(0)) / training
    print(f"clients: {5 * chosen.clients} with 600 samples each")
    print(f"emulated: {summary['elapsed_seconds']:.2f} s")
    print(f"host, after start-up: {training:.1f} s (start-up {started:.1f} s)")
    print(f"emulated / host: {summary['elapsed_seconds'] / training:.3f}")
    print(f"share of host time training in the pool: {in_pool:.1%}")
    nodes = 5 * chosen.clients + 6
    print(
        f"peak memory: guest {guest / 1e6:.0f} MB ({guest / nodes / 1e6:.1f} MB a node), ", end=""
    )
    print(f"workers, evaluator and runner {outside / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
