"""Measures what remembered trainings save: a link study, a second run, and what looking up costs.

    python -m benchmarks.link_study [--rounds 3] [--profiles fibre,cable,lte,3g,satellite]

Everything is measured in one call, each time with an empty store to begin with, and what counts are
the ratios: of a study of all profiles to one run of it, of the quick start's second run to its
first, and of looking a training up, or storing it, to doing it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from contracts.project import ROOT
from contracts.run_directory import RunDirectory
from learning.remembering.store import place
from learning.user_cache import shared_except

SCENARIO = "tempo-fashionmnist-dirichlet-0.1"
VARIANT = "fedadp-6"
TIER = "edge-cloud"


def main() -> None:
    """Measure everything, and print the ratios with where the time went."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3, help="global rounds of the link study")
    options.add_argument("--profiles", default="fibre,cable,lte,3g,satellite")
    chosen = options.parse_args()
    profiles = chosen.profiles.split(",")
    size = ["--size", "small", "--set", f"protocol.rounds={chosen.rounds}"]
    with tempfile.TemporaryDirectory(prefix="link-study-") as folder:
        work = Path(folder)
        link = ["--links", f"{TIER}={profiles[0]}"]
        one = [*("run", SCENARIO, "--variant", VARIANT, *size), *link, "--out", "one"]
        alone = timed(one, work, emptied(work, "alone"))
        study = ["links", SCENARIO, "--tier", TIER, "--profiles", chosen.profiles]
        study += ["--variants", VARIANT, *size, "--out", "study"]
        together = timed(study, work, emptied(work, "together"))
        print(f"\none run: {alone:.1f} s, {len(profiles)} profiles: {together:.1f} s", end="")
        print(f" = {together / alone:.2f} times one run (goal: 1.6)")
        print(shares("the one run", [work / "one"]))
        found = [path for path in sorted((work / "study").iterdir()) if path.is_dir()]
        print(shares(f"the {len(found)} runs of the study", found))

        cache = emptied(work, "quick")
        first, again = (timed(["run", "--out", f"quick{n}"], work, cache) for n in (1, 2))
        print(f"\nquick start: {first:.1f} s, then {again:.1f} s = {again / first:.2f} (goal: 0.5)")
        print(shares("its second run", [work / "quick2"]))
        cost_of_remembering(work / "store")


def emptied(work: Path, name: str) -> Path:
    """Make a cache directory with everything that the user's has, but nothing remembered."""
    return shared_except(place().name, work / f"cache-{name}")


def timed(words: list[str], folder: Path, cache: Path) -> float:
    """Run a command of ours; return its host seconds."""
    variables = {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "cli", *words],
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} failed: {done.stdout[-1500:]}{done.stderr[-1500:]}")
    return time.monotonic() - began


def shares(whose: str, runs: list[Path]) -> str:
    """Say where the host time of some runs went, as shares of all of it."""
    summaries = [json.loads(RunDirectory(run).summary.read_text()) for run in runs]

    def total(key: str) -> float:
        return sum(summary[key] or 0.0 for summary in summaries)

    workers = len(os.sched_getaffinity(0)) if len(runs) == 1 else 1
    training = min(total("pool_seconds") / workers, total("host_training_seconds"))
    everything = total("host_seconds")
    parts = {
        "training": training,
        "packets": total("host_training_seconds") - training,
        "start-up": total("host_startup_seconds"),
    }
    parts["preparing, last evaluations and figures"] = everything - sum(parts.values())
    words = ", ".join(f"{name} {part / everything:.0%}" for name, part in parts.items())
    counted = [_counts(summary) for summary in summaries]
    return f"  {whose}: {words}; {'; '.join(counted)}"


def _counts(summary: dict[str, Any]) -> str:
    trainings = summary["trainings"]
    return f"{trainings['remembered']} of {sum(trainings.values())} trainings remembered"


def cost_of_remembering(root: Path, repeat: int = 30) -> None:
    """Compare looking up and storing a training with doing it: LeNet-5, 600 samples, 6 epochs."""
    import numpy as np

    from contracts.training import Task
    from learning.data import datasets
    from learning.models import registry as models
    from learning.remembering.memory import Memory
    from learning.remembering.names import Names
    from learning.remembering.store import Store
    from learning.training.context import TrainingContext
    from learning.training.run_data import RunData
    from learning.training.sgd import train

    data = RunData(datasets.load("fashionmnist", None), [np.arange(600)])
    module = models.build("lenet5", (1, 28, 28), 10, seed=1)
    context = TrainingContext(data.dataset, data.partition, module)
    memory = Memory(Store(root), Names(data, "lenet5"), True, print)
    weights = models.export_weights(module)
    times: dict[str, list[float]] = {"train": [], "store": [], "look up": []}
    for seed in range(repeat):
        task = Task("job", 0, 6, 10, 0.01, 0.9, 0.0, True, seed, "", {}, weights)
        result = _timed(times["train"], lambda task=task: train(task, context))
        sought = memory.look_up(task)
        _timed(times["store"], lambda sought=sought, result=result: sought.keep(result))
        found = _timed(times["look up"], lambda task=task: memory.look_up(task).recall())
        assert found is not None and found.loss == result.loss
    training = statistics.median(times["train"])
    for what, goal in (("look up", "1 %"), ("store", "2 %")):
        taken = statistics.median(times[what])
        print(f"to {what}: {taken / training:.2%} of the training (goal: {goal})")


def _timed(times: list[float], work: Any) -> Any:
    began = time.perf_counter()
    found = work()
    times.append(time.perf_counter() - began)
    return found


if __name__ == "__main__":
    main()
