"""Divides this machine's cores among the runs of a sweep."""

import os
from collections.abc import Sequence
from dataclasses import replace

from contracts.errors import BadInput
from scenarios.expansion import SweepRun


def jobs_at_once(runs: Sequence[SweepRun], asked: int | None) -> int:
    """Return how many runs go on at a time: one per core, or one where host time is measured.

    It depends on all runs rather than on those left, so that a resumed sweep goes on as it began.
    """
    if asked is not None and asked < 1:
        raise BadInput(f"--jobs {asked}: no run could start; give 1 or more")
    if asked is None and any(_timed_by_host(run) for run in runs):
        asked = 1
    return min(asked or _cores(), len(runs))


def share_cores(runs: Sequence[SweepRun], jobs: int) -> list[SweepRun]:
    """Give each run its share of the cores as workers, unless its scenario sets a number."""
    return [_with_workers(run, max(1, _cores() // jobs)) for run in runs]


def _with_workers(run: SweepRun, workers: int) -> SweepRun:
    compute = run.scenario.compute
    if compute.workers:
        return run  # set by the scenario
    compute = compute.model_copy(update={"workers": workers})
    return replace(run, scenario=run.scenario.model_copy(update={"compute": compute}))


def _timed_by_host(run: SweepRun) -> bool:
    """Whether other runs would falsify this one: on the wall clock, or with a measured device."""
    measured = any(device.measured for device in run.scenario.devices.values())
    return run.scenario.clock == "wall" or measured


def _cores() -> int:
    return len(os.sched_getaffinity(0))
