"""Metronome from Python: run scenarios, read their records as columns, compare them.

    import metronome

    run = metronome.run("quickstart", links={"edge-cloud": "3g"})
    run.rounds["accuracy"]
    run.figure()

Python finds this module if Metronome's folder is on its path, as with
`PYTHONPATH=/path/to/metronome /path/to/metronome/.venv/bin/python` (docs/from-python.md). A
mistake is a `metronome.BadInput`, and a run that ends early a `metronome.RunFailed`: one sentence.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from cli.from_python.child import command
from cli.from_python.records import Comparison, Run, Study
from contracts.errors import BadInput
from runner.execution import RunFailed
from scenarios.toml_values import written

__all__ = [
    "BadInput",
    "Comparison",
    "Run",
    "RunFailed",
    "Study",
    "compare",
    "load",
    "resume",
    "run",
    "sweep",
]

Place = str | Path


def run(
    scenario: Place = "quickstart",
    *,
    links: Mapping[str, str] | None = None,
    set: Mapping[str, Any] | None = None,
    variant: str | None = None,
    size: str | None = None,
    clock: Literal["wall", "virtual"] | None = None,
    backend: Literal["auto", "native", "guest"] | None = None,
    seed: int | None = None,
    plugins: Iterable[Place] = (),
    data: Place | None = None,
    out: Place | None = None,
    fresh: bool = False,
    stop_at_target: bool = False,
    quiet: bool = False,
) -> Run:
    """Run a scenario to its end, as `./metronome run` does, showing how far it is.

    `set` changes values of the scenario by their path, like {"protocol.rounds": 5}.
    """
    directory = Path(out) if out is not None else _new("runs", Path(scenario).stem)
    words = ["run", str(scenario), "--out", str(directory)]
    words += [
        part for tier, name in (links or {}).items() for part in ("--links", f"{tier}={name}")
    ]
    words += _changes(set)
    words += _options(variant=variant, size=size, clock=clock, backend=backend)
    words += _options(seed=seed, data=data)
    words += _repeated("--plugin", plugins)
    words += ["--fresh"] if fresh else []
    words += ["--stop-at-target"] if stop_at_target else []
    command(words, quiet)
    return Run(directory)


def resume(directory: Place, *, plugins: Iterable[Place] = (), quiet: bool = False) -> Run:
    """Go on with a run that was interrupted or failed, as `./metronome resume` does."""
    command(["resume", str(directory), *_repeated("--plugin", plugins)], quiet)
    return Run(Path(directory))


def sweep(
    file: Place,
    *,
    seeds: Sequence[int] | None = None,
    size: str | None = None,
    set: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    plugins: Iterable[Place] = (),
    data: Place | None = None,
    out: Place | None = None,
    quiet: bool = False,
) -> Study:
    """Run all that a sweep file, or a scenario's variants, ask for; finished runs are kept."""
    directory = Path(out) if out is not None else Path("sweeps") / Path(file).stem
    words = ["sweep", str(file), "--out", str(directory), *_changes(set)]
    words += _options(size=size, jobs=jobs, data=data)
    words += ["--seeds", ",".join(map(str, seeds))] if seeds else []
    words += _repeated("--plugin", plugins)
    command(words, quiet)
    return Study(directory)


def load(directory: Place) -> Run:
    """Return a run by its directory, also one that goes on still."""
    return Run(Path(directory))


def compare(
    *runs: Run | Study | Place,
    target: float | Literal["baseline"] | None = None,
    baseline: str | None = None,
) -> Comparison:
    """Compare runs, given as such or by their directories."""
    paths = [one.path if isinstance(one, Run | Study) else Path(one) for one in runs]
    return Comparison(paths, target, baseline)


def _new(folder: str, name: str) -> Path:
    path = Path(folder) / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    while path.exists():
        path = path.with_name(f"{path.name}x")
    return path


def _changes(changes: Mapping[str, Any] | None) -> list[str]:
    texts = [f"{key}={written(value)}" for key, value in (changes or {}).items()]
    return _repeated("--set", texts)


def _options(**given: object) -> list[str]:
    return [
        word
        for name, value in given.items()
        if value is not None
        for word in (f"--{name}", str(value))
    ]


def _repeated(option: str, values: Iterable[object]) -> list[str]:
    return [word for value in values for word in (option, str(value))]
