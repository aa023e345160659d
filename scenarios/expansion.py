"""Expands a sweep into its runs: every variant with every combination of settings and seeds."""

import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from scenarios import loader
from scenarios.schema import Scenario
from scenarios.sweeps import Runs, Sweep, check_setting
from scenarios.toml_values import written

_LONGEST_NAME = 120
MOST_RUNS = 10_000


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep; `id` is the name of its directory."""

    id: str
    scenario: Scenario


@dataclass(frozen=True)
class SweepOptions:
    """Options of the command line that apply to all runs and override the sweep file."""

    size: str | None = None
    seeds: Sequence[int] | None = None
    changes: Sequence[str] = ()


def expand(sweep: Sweep, options: SweepOptions) -> list[SweepRun]:
    """Return all runs, checked, in the order of the file.

    Runs whose settings are meant for one size are left out at another. Raises BadInput if any of
    them would be refused, so that nothing starts in vain.
    """
    found: list[SweepRun] = []
    ids: dict[str, str] = {}  # by the resolved scenario
    taken: set[str] = set()
    _check_number(sweep, options)
    for number, runs in enumerate(sweep.runs, 1):
        if runs.only_size not in (None, _size(sweep, runs, options)):
            continue
        place = f"runs.{number} ({Path(runs.scenario).stem})"
        try:
            _check_changes(runs, options.changes)
            resolved = list(_resolved(sweep, runs, options))
        except BadInput as error:
            raise BadInput(f"{place}: {error}") from None
        for scenario, settings in resolved:
            text = loader.dump(scenario)
            if text in ids:
                raise BadInput(f'{place}: "{ids[text]}" is in the sweep already; take one out')
            ids[text] = _id(scenario, settings, taken)
            taken.add(ids[text])
            found.append(SweepRun(ids[text], scenario))
    if not found:
        sizes = ", ".join(sorted({runs.only_size for runs in sweep.runs if runs.only_size}))
        raise BadInput(f'size: "{sweep.name}" has runs for {sizes} only; give --size with one')
    return found


def _check_number(sweep: Sweep, options: SweepOptions) -> None:
    """Refuse more runs than anybody can wait for, before any of them is looked at."""
    total = 0
    for runs in sweep.runs:
        seeds = len(options.seeds or runs.seeds or sweep.seeds or ()) or 1
        values = math.prod(len(values) for values in runs.grid.values())
        total += seeds * len(runs.variants or [runs.scenario]) * values
    if total > MOST_RUNS:
        raise BadInput(
            f'sweep "{sweep.name}": has {total} runs, and {MOST_RUNS} are the most; give fewer '
            "seeds or values, or several sweeps"
        )


def _size(sweep: Sweep, runs: Runs, options: SweepOptions) -> str | None:
    return options.size or runs.size or sweep.size


def _resolved(
    sweep: Sweep, runs: Runs, options: SweepOptions
) -> Iterator[tuple[Scenario, dict[str, Any]]]:
    """Yield each scenario with the settings that distinguish it from the scenario's file."""
    size = _size(sweep, runs, options)
    own: list[None] = [None]  # leaves the scenario's own seed, or its only variant
    seeds = options.seeds or runs.seeds or sweep.seeds or own
    variants = runs.variants or loader.choices(runs.scenario).variants or own
    for variant in variants:
        for values in itertools.product(*runs.grid.values()):
            settings = {**runs.set, **dict(zip(runs.grid, values, strict=True))}
            changes = [f"{key}={written(value)}" for key, value in settings.items()]
            for seed in seeds:
                scenario = loader.load(
                    runs.scenario,
                    changes=[*changes, *options.changes],
                    overrides={"seed": seed},
                    variant=variant,
                    size=size,
                )
                yield scenario, settings


def _check_changes(runs: Runs, changes: Sequence[str]) -> None:
    for change in changes:
        key = change.partition("=")[0].strip()
        try:
            check_setting(key)
        except ValueError as error:
            raise BadInput(f"--set {change}: {error}") from None
        if key in runs.grid:
            raise BadInput(f"--set {change}: the grid varies this; take it out of one of them")


def _id(scenario: Scenario, settings: Mapping[str, Any], taken: set[str]) -> str:
    """Return a readable file name that no other run of the sweep has."""
    labels = [f"{key.rpartition('.')[2]}-{_word(value)}" for key, value in settings.items()]
    parts = [scenario.name, scenario.size, scenario.variant, *labels, f"seed{scenario.seed}"]
    readable = "-".join(_safe(part) for part in parts if part)
    if len(readable) <= _LONGEST_NAME and readable not in taken:
        return readable
    digest = hashlib.sha256(loader.dump(scenario).encode()).hexdigest()[:8]
    return f"{readable[: _LONGEST_NAME - 9]}-{digest}"


def _word(value: Any) -> str:
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def _safe(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-")
