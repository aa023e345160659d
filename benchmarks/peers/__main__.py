"""Compares a round of federated averaging here and in Flower, and the codecs, in one call.

    python -m benchmarks.peers --install        # Flower, into an environment of its own
    python -m benchmarks.peers [--rounds 6] [--clients 10] [--epochs 2] [--flower FOLDER]

The same FedAvg everywhere: LeNet-5, FashionMNIST, 600 samples a client, batches of 10, the same
trainings by the same code (so that models are equal but for the order of sums). The first round, in
which processes load what they need, does not count. Seconds are of the host.
"""

import argparse
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import measured_run
from benchmarks.measured_run import Moment
from benchmarks.peers import environment, flower, work
from benchmarks.peers.names import FINAL, RUN
from contracts.errors import BadInput
from contracts.run_directory import RunDirectory
from learning.remembering.store import place
from learning.user_cache import shared_except
from protocols.wire import read_file
from runner.preparation import prepare
from scenarios import loader

_CORES = len(os.sched_getaffinity(0))
# What a process of Flower's that trains does before it can.
_START = "from benchmarks.peers.flower_app import work; work().train(0, 1, work().first_model())"


def main() -> None:
    """Measure everyone and print a table."""
    options = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    options.add_argument("--install", action="store_true", help="install Flower and do no more")
    options.add_argument("--flower", type=Path, default=environment.DEFAULT, metavar="FOLDER")
    options.add_argument("--rounds", type=int, default=6)
    options.add_argument("--clients", type=int, default=10)
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--data", type=Path, help="data sets in torchvision's layout")
    chosen = options.parse_args()
    try:
        if chosen.install:
            environment.install(chosen.flower)
            return
        commands = environment.find(chosen.flower)
    except BadInput as error:
        options.exit(2, f"{error}\n")
    with tempfile.TemporaryDirectory(prefix="metronome-peers-") as folder:
        compare(Path(folder), commands, chosen)


def compare(folder: Path, commands: Path, chosen: argparse.Namespace) -> None:
    """Hold the rounds everywhere, one after the other, and print each as soon as it is known."""
    os.environ["XDG_CACHE_HOME"] = str(shared_except(place().name, folder / "cache"))
    settings = work.scenario(chosen.clients, chosen.rounds, chosen.epochs)
    print(f"{chosen.clients} clients, {chosen.epochs} epochs; {_CORES} cores, ", end="")
    print(f"load {os.getloadavg()[0]:.1f}\n{HEADER}")

    alone = _prepared(settings, folder / "alone", chosen.data)
    shared = work.Work(alone)
    training = work.training_alone(alone, chosen.rounds - 1, _CORES)
    print(row("training alone", Moment(training / _CORES, training), training), flush=True)

    def ours(name: str, remember: bool) -> Mapping[str, np.ndarray]:
        own = settings | {"compute": {"remember": remember}}
        run_dir = folder / name
        moments = measured_run.execute(own, run_dir, Moment.now, _CORES, chosen.data).noted
        print(row(f"ours, {name}", per_round(moments), training), flush=True)
        return read_file(RunDirectory(run_dir).final_model("cloud", 1)).tensors

    expected = ours("every training done", remember=False)
    ours("and kept", remember=True)
    ours("every training remembered", remember=True)

    for name, hold in (
        ("Flower, simulation engine", partial(flower.simulation, commands)),
        ("Flower, gRPC", partial(flower.federation, commands, chosen.clients)),
    ):
        run_dir = _prepared(settings, folder / name.split()[-1], chosen.data)
        print(row(name, per_round(hold(run_dir)), training), flush=True)
        with np.load(run_dir / FINAL) as stored:
            print(f"{'':32}its last model: accuracy {shared.accuracy(stored):.2%}", end=", ")
            print(f"ours {shared.accuracy(expected):.2%}")

    def in_flower(*words: str) -> float:
        before = _ended_children()
        variables = environment.variables(commands, folder) | {RUN: str(alone)}
        subprocess.run([commands / "python", *words], env=variables, check=True)
        return _ended_children() - before

    print("\nprocessor seconds to start one process of Flower's that trains, and to train once: ")
    print(f"{in_flower('-c', _START):.1f} (over gRPC there is one for each training)\n")
    in_flower("-m", "benchmarks.peers.codec")


HEADER = "a round of                         by the clock    processor   / training alone"


def row(name: str, each: Moment, training: float) -> str:
    """Show the seconds of a round, and its processor seconds as a multiple of the trainings'."""
    return (
        f"{name:32} {each.clock:10.3f} s {each.processor:9.3f} s {each.processor / training:10.2f}"
    )


def per_round(moments: Sequence[Moment]) -> Moment:
    """Return what one round took, without the first; `moments` begin with the start."""
    return moments[-1].since(moments[1], len(moments) - 2)


def _prepared(settings: dict[str, object], run_dir: Path, data: Path | None) -> Path:
    prepare(loader.check(settings), data, run_dir).write()
    return run_dir


def _ended_children() -> float:
    used = os.times()
    return used.children_user + used.children_system


if __name__ == "__main__":
    main()
