"""`metronome sweep`: runs what is not finished yet, then compares all runs."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from cli.live import LiveView
from cli.sweep.core_shares import jobs_at_once, share_cores
from cli.sweep.directories import is_finished, locked_directory, run_paths
from cli.sweep.display import SweepDisplay
from cli.sweep.runs import ChildCommand, metronome_command, run_all
from contracts.errors import BadInput
from scenarios import sweeps
from scenarios.expansion import SweepOptions, SweepRun, expand
from scenarios.sweeps import Sweep

SWEEPS = Path("sweeps")
INTERRUPTED = 130  # exit code


def sweep(
    name_or_file: str,
    size: str | None,
    seeds: str | None,
    changes: Sequence[str],
    jobs: int | None,
    out: str | None,
    data_dir: Path | None,
    command: ChildCommand | None = None,
    live: int | None = None,
) -> int:
    """Run what is not finished yet, then compare.

    Returns the exit code: 1 if a run failed, 130 if interrupted. `command` replaces
    `metronome run` in tests.
    """
    table = sweeps.read(name_or_file)
    runs = expand(table, SweepOptions(size, _parse_seeds(seeds), changes))
    return run_table(table, runs, jobs, sweep_directory(table, out), data_dir, command, live)


def sweep_directory(table: Sweep, out: str | None) -> Path:
    """Return the directory of the sweep's runs."""
    return Path(out or SWEEPS / table.name).resolve()


def run_table(
    table: Sweep,
    runs: list[SweepRun],
    jobs: int | None,
    directory: Path,
    data_dir: Path | None,
    command: ChildCommand | None = None,
    live: int | None = None,
) -> int:
    """Check the sweep, execute its runs and compare them; `links` calls this too."""
    _check_baseline(table, runs)
    _check_rho(table, runs)
    jobs = jobs_at_once(runs, jobs)
    runs = share_cores(runs, jobs)
    view, console = LiveView(live), Console()
    with locked_directory(directory) as lock:
        left = [run for run in runs if not is_finished(directory, run)]
        half_done = [run.id for run in left if run_paths(directory, run).directory.exists()]
        if half_done:
            print(f"half done, and begun again with what they had trained: {', '.join(half_done)}")
        display = SweepDisplay(len(runs), len(runs) - len(left), console)
        shown = [directory / run.id for run in runs]
        try:
            with view.showing(shown, console.print), display:
                ended = run_all(
                    left, directory, jobs, command or metronome_command(data_dir), display, lock
                )
        except KeyboardInterrupt:
            count = f"{display.finished} of {len(runs)} runs are finished"
            _print_error(f"interrupted; {count}, and the same command goes on from here")
            return INTERRUPTED
        broken = [run.run.id for run in ended if run.failure is not None]
        return _conclude(table, directory, runs, broken)


def _conclude(
    table: Sweep, directory: Path, runs: Sequence[SweepRun], broken: Sequence[str]
) -> int:
    """Compare this sweep's runs, whatever else is in the directory; return the exit code."""
    from cli.compare import compare

    code = 0
    ids = [run.id for run in runs]
    options = _comparison_options(table, [run for run in runs if run.id not in broken])
    there = [str(directory / name) for name in ids if (directory / name).is_dir()]
    if len(broken) < len(ids):
        try:
            code = compare(there, table.target, table.baseline, out=str(directory), **options)
        except BadInput as error:
            if not broken:
                raise
            _print_error(str(error))  # perhaps it is the baseline that failed
    if broken:
        names = ", ".join(broken)
        _print_error(
            f"{len(broken)} of {len(ids)} runs failed: {names}; the same command repeats them"
        )
        code = 1
    return code


def _comparison_options(table: Sweep, runs: Sequence[SweepRun]) -> dict[str, Any]:
    """Return further options of the comparison: the settings of the grids, and rho."""
    from reports.comparison.labels import identity
    from reports.comparison.over_settings import MOST_KEYS
    from reports.comparison.setting_values import varies

    grids = [list(part.grid) for part in table.runs if part.grid]
    keys = grids[0] if len({frozenset(grid) for grid in grids}) == 1 else []
    identities = [identity(run.scenario.model_dump(exclude_none=True)) for run in runs]
    over = [key for key in keys if varies(key, identities)]
    options: dict[str, Any] = {"over": over} if 0 < len(over) <= MOST_KEYS else {}
    return options if table.rho is None else options | {"rho": table.rho}


def _check_rho(table: Sweep, runs: Sequence[SweepRun]) -> None:
    """Refuse, before anything runs, a rho at which the runs will not be evaluated."""
    on_cells = [run for run in runs if run.scenario.topology.kind == "cells"]
    if table.rho is not None and not on_cells:
        raise BadInput(f"rho: {table.rho:g}: none of the runs is on cells; leave it out")
    for run in on_cells:
        if table.rho is not None and table.rho not in run.scenario.task.rho:
            known = ", ".join(f"{rho:g}" for rho in run.scenario.task.rho)
            raise BadInput(
                f'rho: {table.rho:g}: "{run.id}" is evaluated at {known}; take one of these, '
                "or set task.rho"
            )


def _check_baseline(table: Sweep, runs: Sequence[SweepRun]) -> None:
    """Refuse, before anything runs, a baseline that none of the runs will match."""
    from reports.comparison.groups import compare_runs
    from reports.comparison.labels import identity
    from reports.comparison.runs import Run

    to_come = [
        Run(
            path=Path(run.id),
            name=run.scenario.name,
            variant=run.scenario.variant,
            size=run.scenario.size,
            protocol=run.scenario.protocol.name,
            clock=run.scenario.clock,
            seed=run.scenario.seed,
            target=run.scenario.task.target_accuracy,
            verdict="not known",
            bytes_on_wire=None,
            identity=identity(run.scenario.model_dump(exclude_none=True)),
            points=(),
            carried={},
        )
        for run in runs
    ]
    compare_runs(to_come, target=table.target, baseline=table.baseline)


def _parse_seeds(seeds: str | None) -> list[int] | None:
    if seeds is None:
        return None
    try:
        return [int(seed) for seed in seeds.split(",")]
    except ValueError:
        words = f"--seeds {seeds[:100]}: not numbers; write it like --seeds 1,2,3"
        raise BadInput(words) from None


def _print_error(sentence: str) -> None:
    print(f"metronome: {sentence}", file=sys.stderr)
