"""From a sweep to its runs: every variant with every setting and seed, each checked and named."""

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from scenarios import loader
from scenarios.schema import Scenario
from scenarios.sweeps import Runs, Sweep, check_setting

_LONGEST_NAME = 120


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep; `id` names its directory."""

    id: str
    scenario: Scenario


@dataclass(frozen=True)
class SweepOptions:
    """What the command line says about all runs, over what the sweep file says."""

    size: str | None = None
    seeds: Sequence[int] | None = None
    changes: Sequence[str] = ()


def expand(sweep: Sweep, options: SweepOptions) -> list[SweepRun]:
    """All runs, in the order of the file; BadInput when any of them would be refused."""
    found: list[SweepRun] = []
    ids: dict[str, str] = {}  # by the resolved scenario
    for number, runs in enumerate(sweep.runs, 1):
        place = f"runs.{number} ({Path(runs.scenario).stem})"
        try:
            _check_changes(runs, options.changes)
            resolved = list(_resolved(sweep, runs, options))
        except BadInput as error:
            raise BadInput(f"{place}: {error}") from None
        for scenario, tried in resolved:
            text = loader.dump(scenario)
            if text in ids:
                raise BadInput(f'{place}: "{ids[text]}" is in the sweep already; take one out')
            ids[text] = _id(scenario, tried, set(ids.values()))
            found.append(SweepRun(ids[text], scenario))
    return found


def _resolved(
    sweep: Sweep, runs: Runs, options: SweepOptions
) -> Iterator[tuple[Scenario, dict[str, Any]]]:
    """Each scenario, with the settings that make it differ from the scenario's file."""
    size = options.size or runs.size or sweep.size
    own: list[None] = [None]  # the scenario's own seed, its only variant
    seeds = options.seeds or runs.seeds or sweep.seeds or own
    variants = runs.variants or loader.choices(runs.scenario).variants or own
    for variant in variants:
        for values in itertools.product(*runs.grid.values()):
            tried = {**runs.set, **dict(zip(runs.grid, values, strict=True))}
            changes = [f"{key}={_toml(value)}" for key, value in tried.items()]
            for seed in seeds:
                scenario = loader.load(
                    runs.scenario,
                    changes=[*changes, *options.changes],
                    overrides={"seed": seed},
                    variant=variant,
                    size=size,
                )
                yield scenario, tried


def _check_changes(runs: Runs, changes: Sequence[str]) -> None:
    for change in changes:
        key = change.partition("=")[0].strip()
        try:
            check_setting(key)
        except ValueError as error:
            raise BadInput(f"--set {change}: {error}") from None
        if key in runs.grid:
            raise BadInput(f"--set {change}: the grid varies this; take it out of one of them")


def _id(scenario: Scenario, tried: Mapping[str, Any], taken: set[str]) -> str:
    """Readable, a file name, and nobody else's."""
    settings = [f"{key.rpartition('.')[2]}-{_word(value)}" for key, value in tried.items()]
    parts = [scenario.name, scenario.size, scenario.variant, *settings, f"seed{scenario.seed}"]
    readable = "-".join(_safe(part) for part in parts if part)
    if len(readable) <= _LONGEST_NAME and readable not in taken:
        return readable
    digest = hashlib.sha256(loader.dump(scenario).encode()).hexdigest()[:8]
    return f"{readable[: _LONGEST_NAME - 9]}-{digest}"


def _word(value: Any) -> str:
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def _safe(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-")


def _toml(value: Any) -> str:
    """The value in one line of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else str(value)
