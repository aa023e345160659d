"""What a sweep's methods learn, without their network: accuracies by round, and no times.

Whom a synchronous method draws, trains and averages does not depend on links, so the models are
those of the runs in the network: `--check RUN` compares the last one with a real run's, bit by bit.
That leaves training and evaluation, so rates can be picked, and accuracies be given more seeds,
where time is short. Whatever is said about elapsed time needs the network.

Run from the root of the repository: python -m benchmarks.learning_alone SWEEP --out FILE.csv
"""

import argparse
import csv
import multiprocessing
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from contracts.errors import BadInput
from contracts.messages import GLOBAL_ROUND
from contracts.plan import NodeSpec, Plan
from contracts.run_directory import RunDirectory
from contracts.training import TrainingFailed
from learning.evaluation.scores import evaluate
from learning.training.context import TrainingContext
from learning.training.inline import InlineTrainer
from nodes.cloud import facts_of, own_samples
from nodes.compute import Computer
from nodes.serving.sampling import drawn_children
from protocols import registry
from protocols.base import Client, Moment, Package, Server, Tensors
from protocols.wire import read_file
from runner.preparation import prepare
from scenarios import expansion, loader, sweeps
from scenarios.schema import Scenario

WINDOW = 20  # rounds, as in rolling_accuracy


class NoDevice:
    """Computes in no time."""

    def begin(self, start: float, seconds: float) -> None:
        """Start at once."""

    def finish(self) -> float:
        """Be done at once."""
        return 0.0


class Learning:
    """The servers and clients of one run, who hand each other their packages directly."""

    def __init__(self, run_dir: Path, plan: Plan, trainer: InlineTrainer) -> None:
        self._plan = plan
        self._method = registry.method(plan.protocol)
        self._settings = self._method.Settings(**plan.settings)
        self._computers = {
            node.name: Computer(node, plan, trainer, NoDevice()) for node in plan.nodes
        }
        self._clients: dict[str, Client] = {}
        self._edges: dict[str, Server] = {}
        initial = read_file(RunDirectory(run_dir).initial_model)
        self._top = plan.node(plan.tops[0])
        self._server: Server = self._method.Server(self._settings, initial.tensors)
        self._server.facts = facts_of(plan, self._top)
        if self._method.sends_server_data:
            self._server.data = own_samples(run_dir)

    def models(self) -> Iterator[Tensors]:
        """Yield the model after each global round."""
        for number in range(1, self._plan.rounds + 1):
            self._round(self._server, self._top, number, number)
            yield self._server.model

    def _round(self, server: Server, node: NodeSpec, number: int, local_round: int) -> None:
        """Hold one local round of a server, as nodes/rounds.py does."""
        if local_round == 1:
            self._train_server(server, node, "before", local_round)
            self._share(server, node)
        drawn = drawn_children(self._plan, node.name, local_round, list(node.children))
        sent = {child: server.outgoing(child) for child in drawn}
        own = server.server_job("beside")
        replies = {child: self._answer(child, sent[child], number, local_round) for child in sent}
        for child, reply in replies.items():
            server.add(child, reply)
        if own is not None:
            result, _ = self._computers[node.name].begin(own, local_round, "beside").collect()
            server.server_trained("beside", result)
        server.finish()
        self._train_server(server, node, "after", local_round)

    def _answer(self, child: str, package: Package, number: int, local_round: int) -> Package:
        """Return what a client, or an edge after its own local rounds, sends back."""
        node = self._plan.node(child)
        if node.children:
            return self._answer_of_edge(node, package, number)
        package.meta[GLOBAL_ROUND] = number
        client = self._clients.setdefault(child, self._method.Client(self._settings))
        (job,) = client.jobs({str(node.parent): package})
        result, _ = self._computers[child].train(job, local_round)
        return client.reply(package, result)

    def _answer_of_edge(self, node: NodeSpec, package: Package, number: int) -> Package:
        edge = self._edges.setdefault(node.name, self._method.Edge(self._settings, {}))
        edge.receive(package)
        rounds = self._settings.edge_rounds
        for local_round in range((number - 1) * rounds + 1, number * rounds + 1):
            self._round(edge, node, number, local_round)
        return edge.upward()

    def _train_server(self, server: Server, node: NodeSpec, moment: Moment, round: int) -> None:
        job = server.server_job(moment)
        if job is not None:
            result, _ = self._computers[node.name].begin(job, round, moment).collect()
            server.server_trained(moment, result)

    def _share(self, server: Server, node: NodeSpec) -> None:
        shared = server.data_to_share()
        if shared is None:
            return
        for child in node.children:
            client = self._clients.setdefault(child, self._method.Client(self._settings))
            client.receive_data(shared)


def learn(
    scenario: Scenario, data: Path | None, evaluated: int | None
) -> tuple[dict[int, float], Tensors]:
    """Return accuracies by round, of the last rounds only if so asked, and the last model.

    Ends after the round that reached the target where the scenario says `stop = "target"`.
    """
    method = registry.method(scenario.protocol.name)
    selects = any(kind.select is not Server.select for kind in (method.Server, method.Edge))
    unsteady = scenario.availability or scenario.timeline or scenario.limits.late != "abort"
    if scenario.topology.kind not in ("star", "tree") or method.streams or selects or unsteady:
        raise BadInput(
            "learning_alone: stars and trees only, with a method of rounds, whose clients are drawn"
            " by the seed, always there and all waited for; run this in its network"
        )
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(scenario, data, Path(folder) / "run")
        prepared.write()
        context, plan = TrainingContext.load(prepared.run_dir), prepared.plan
        trainer = InlineTrainer(context)
        first = plan.rounds - evaluated if evaluated else 0
        accuracies: dict[int, float] = {}
        for number, model in enumerate(Learning(prepared.run_dir, plan, trainer).models(), 1):
            if number <= first:
                continue
            accuracies[number] = evaluate(model, context).accuracy
            if plan.stop_at is not None and accuracies[number] >= plan.stop_at:
                break
        trainer.close()
    return accuracies, model


def learns_the_same(run: Path, data: Path | None) -> bool:
    """Say whether a real run's last model is what comes out here, bit by bit."""
    files = RunDirectory(run)
    _, here = learn(loader.load(str(files.scenario)), data, 1)
    there = read_file(files.final_model("cloud", 1)).tensors
    return all((here[name] == tensor).all() for name, tensor in there.items())


def line_of(run: expansion.SweepRun, data: Path | None, evaluated: int | None) -> list[str]:
    """Return the run's line of the table."""
    try:
        accuracies, _ = learn(run.scenario, data, evaluated)
    except TrainingFailed as failure:
        return [run.id, "diverged", "", "", str(failure)]
    last = list(accuracies.values())[-WINDOW:]
    curve = " ".join(f"{accuracy:.4f}" for accuracy in accuracies.values())
    return [run.id, f"{sum(last) / len(last):.5f}", f"{last[-1]:.4f}", f"{max(accuracies)}", curve]


def main() -> None:
    """Learn all runs of a sweep that the file has not yet; add one line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sweep", nargs="?", help="by name or file")
    parser.add_argument("--seeds", help="like 1,2,3 (default: the sweep's)")
    parser.add_argument("--size")
    parser.add_argument("--evaluate", type=int, help="only so many last rounds")
    parser.add_argument("--jobs", type=int, default=1, help="how many runs at the same time")
    parser.add_argument("--check", type=Path, help="a whole run's directory, instead of a sweep")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("learning-alone.csv"))
    given = parser.parse_args()
    if given.check:
        same = learns_the_same(given.check, given.data)
        print(f"{given.check}: the last models are {'the same' if same else 'DIFFERENT'}")
        return
    seeds = [int(seed) for seed in given.seeds.split(",")] if given.seeds else None
    options = expansion.SweepOptions(size=given.size, seeds=seeds)
    done: set[str] = set()
    if given.out.exists():
        with given.out.open(newline="") as lines:
            done = {line["run"] for line in csv.DictReader(lines)}
    else:
        given.out.write_text("run,last_20_rounds,last,rounds,accuracies\n")
    runs = [
        run for run in expansion.expand(sweeps.read(given.sweep), options) if run.id not in done
    ]
    with ProcessPoolExecutor(given.jobs, multiprocessing.get_context("spawn")) as pool:
        for work in as_completed(
            pool.submit(line_of, run, given.data, given.evaluate) for run in runs
        ):
            with given.out.open("a", newline="") as lines:
                csv.writer(lines).writerow(work.result())
            print(*work.result()[:4], flush=True)


if __name__ == "__main__":
    main()
