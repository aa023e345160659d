"""Prepares a run: data, partition, first model and plan, and the run directory with them."""

import json
import math
import os
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from contracts import plugins
from contracts.errors import BadInput
from contracts.messages import Kind
from contracts.plan import Plan
from contracts.provenance import Provenance
from contracts.run_directory import RunDirectory, client_name
from contracts.storage import about, describe
from learning.training.run_data import CACHED_BYTES
from protocols import registry
from runner import trial_round
from runner.handing_back import make_directory, make_new_directory
from runner.storage_watch import lacks_room
from scenarios import loader, planner
from scenarios.schema import Device, Scenario
from scenarios.task_facts import TaskFacts

if TYPE_CHECKING:
    from learning.data.dataset import Dataset

RUNS = Path("runs")


@dataclass(frozen=True)
class PreparedRun:
    """Everything that a run needs; nothing is on the disk before `write`."""

    scenario: Scenario
    plan: Plan
    run_dir: Path
    initial: dict[str, np.ndarray]
    parts: list[np.ndarray]
    data_dir: Path | None
    engine: str = "torch"
    server: tuple[np.ndarray, np.ndarray] | None = None  # the server's own inputs and labels
    sample_bytes: int = 0  # of one, in numbers of 32 bits
    samples: str | None = None  # the digest of a plug-in's data set
    counts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), int))  # by client and class

    def with_provenance(self, provenance: Provenance) -> "PreparedRun":
        """Return a copy whose plan has this provenance."""
        return replace(self, plan=replace(self.plan, provenance=provenance))

    @property
    def worker_bytes(self) -> int:
        """What a worker holds at most: samples as it trains with them, and a model's copies."""
        samples = [len(part) for part in self.parts]
        cached = min(sum(samples) * self.sample_bytes, CACHED_BYTES)
        return cached + 2 * max(samples, default=0) * self.sample_bytes + 6 * self.plan.model_bytes

    def write(self) -> None:
        """Create the run directory and write all that nodes, workers and the evaluator read."""
        existed = self.run_dir.exists() and any(self.run_dir.iterdir())
        try:
            make_directory(self.run_dir)
            RunDirectory(self.run_dir).logs.mkdir()
        except OSError as error:
            raise _cannot_be_made(self.run_dir, error) from None
        try:
            if lacks := lacks_room(self.run_dir):
                raise BadInput(f"--out {lacks}, or name another directory")
            self._write_files()
        except (BadInput, OSError) as error:
            if not existed:  # nothing has begun, and the same command shall do again
                shutil.rmtree(self.run_dir, ignore_errors=True)
            if isinstance(error, BadInput):
                raise
            raise BadInput(
                f"--out {describe(error)}; free some room, or name another directory"
            ) from None

    def _write_files(self) -> None:
        from learning.data.class_counts import write_counts
        from protocols.wire import Message, write_file

        files = RunDirectory(self.run_dir)
        arrays = {client_name(index): part for index, part in enumerate(self.parts)}
        with about(files.partition):
            np.savez(files.partition, allow_pickle=False, **arrays)
        write_counts(files.holdings, self.counts)
        plugins.write_copies(files.plugins)
        learning = {
            "dataset": self.scenario.task.dataset,
            "data_dir": str(self.data_dir) if self.data_dir else None,
            "classes": self.scenario.task.classes,
            "model": self.scenario.task.model,
            "partition": files.partition.name,
            "seed": self.scenario.seed,
            "dissimilarity_every": self.scenario.task.dissimilarity_every,
            "remember": self.scenario.compute.remember,
            # Only where no time passes meanwhile may a worker wait for another run's training.
            "waits_for_others": self.plan.clock == "virtual",
            "stop_at": self.plan.stop_at,
        }
        if self.samples is not None:
            learning["samples"] = self.samples
        if self.server is not None:
            learning["server_data"] = files.server_data.name
            inputs, labels = self.server
            with about(files.server_data):
                np.savez(files.server_data, images=inputs, labels=labels)
        _replace(files.learning, json.dumps(learning))
        _replace(files.scenario, loader.dump(self.scenario))
        with about(files.plan):
            files.plan.write_text(self.plan.to_json())
        first = Message(Kind.INITIAL, "metronome", 0, {}, self.initial)
        write_file(files.initial_model, first)


def _replace(path: Path, text: str) -> None:
    """Write a file so that it is complete at any time; a run that goes on had one before."""
    aside = path.with_name(f".{path.name}")
    with about(path):
        aside.write_text(text)
        aside.replace(path)


def output_directory(scenario: Scenario, out: str | None) -> Path:
    """Return the run's directory; BadInput if `out` exists and is not empty.

    A directory that is not named by the user is made at once: another run may begin this second.
    """
    path = Path(out) if out else RUNS / f"{scenario.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        if out is None:
            return make_new_directory(path).resolve()
        if os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(f"--out {path}: in use; name another directory, or empty this one")
        return path.resolve()
    except OSError as error:
        raise _cannot_be_made(path, error) from None


def _cannot_be_made(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"--out {path}: cannot be made ({error.strerror}); name a directory you may write to"
    )


def trainer_of(scenario: Scenario) -> str:
    """Return who trains: `pool` unless the scenario says otherwise, so that nodes need no torch."""
    return "pool" if scenario.compute.trainer == "auto" else scenario.compute.trainer


def prepare(scenario: Scenario, data_dir: Path | None, run_dir: Path) -> PreparedRun:
    """Load and partition the data, make the first model, and plan; nothing is written yet."""
    from learning.data import brought, datasets, partitions, server_data
    from learning.data.class_counts import class_counts
    from learning.models import flops
    from learning.models import registry as models
    from learning.remembering.first_model import first_model

    task, clients = scenario.task, scenario.topology.client_count
    data = datasets.load(task.dataset, data_dir, task.classes)
    parts = partitions.make(
        task.partition,
        data.train_labels,
        clients,
        task.samples_per_client,
        task.concentration,
        scenario.seed,
        task.shared_samples,
        homes=scenario.topology.cells_by_client if scenario.topology.kind == "cells" else None,
        cells=scenario.topology.cells,
        labels_each=task.labels_per_client,
    )
    if task.sorted_by_class:
        parts = partitions.sorted_by_class(parts, data.train_labels)
    counts = class_counts(data.train_labels, parts, data.classes)
    server = None
    if scenario.server_data is not None:
        server = server_data.gather(scenario.server_data, data, parts, scenario.seed, data_dir)
    models.check(task.model, data.shape)
    costs = (task.model, data.shape, data.classes, task.batch_size, data.tokens)
    flops_per_step = flops.training_flops(*costs)  # also tries the model out
    first = first_model(
        task.model, data.shape, data.classes, scenario.seed, scenario.compute.remember
    )
    initial = dict(first.weights)
    if any(device.measured for device in scenario.devices.values()):
        scenario = _with_measured_devices(scenario, data, parts, initial, flops_per_step)
    facts = TaskFacts(
        samples=[len(part) for part in parts],
        flops_per_step=flops_per_step,
        tensors={name: (str(t.dtype), t.shape) for name, t in initial.items()},
        classes=data.classes,
        server_samples=len(server[1]) if server else 0,
        server_bytes=sum(part.nbytes for part in server) if server else 0,
        costs=flops.step_costs(*costs),
    )
    below_cloud = scenario.topology.tiers[-1] == "edge-cloud"
    method = registry.method(scenario.protocol.name)
    trial_round.try_out(method, loader.protocol_settings(scenario), initial, below_cloud)
    plan = planner.plan(scenario, facts, run=run_dir.name, trainer=trainer_of(scenario))
    made = (scenario, plan, run_dir, initial, parts, data_dir, first.engine, server)
    return PreparedRun(
        *made,
        sample_bytes=4 * math.prod(data.shape),
        samples=brought.digest(data) if task.dataset not in datasets.DATASETS.own else None,
        counts=counts,
    )


def _with_measured_devices(
    scenario: Scenario,
    data: "Dataset",
    parts: list[np.ndarray],
    initial: dict[str, np.ndarray],
    flops_per_step: int,
) -> Scenario:
    """Return the scenario with this machine's measured speed for every device `host`."""
    from learning.models import registry as models
    from learning.training.context import TrainingContext
    from learning.workers import host_speed

    task = scenario.task
    module = models.build(task.model, data.shape, data.classes, seed=0)
    some = [parts[0][: 40 * task.batch_size]]
    seconds = host_speed.seconds_per_step(
        TrainingContext(data, some, module), initial, task.batch_size
    )
    found = Device(
        profile="host",
        speed=flops_per_step / seconds,
        memory=round(host_speed.memory_bytes_per_second()),
    )
    devices = {role: found if d.measured else d for role, d in scenario.devices.items()}
    return scenario.model_copy(update={"devices": devices})


def worker_count(scenario: Scenario) -> int:
    """Return the scenario's number of workers, or one for each core that this process may use."""
    return scenario.compute.workers or len(os.sched_getaffinity(0))
