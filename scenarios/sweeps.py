"""Sweep files: their schema, and how they are found and read."""

import os.path
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from contracts.errors import BadInput
from scenarios import files
from scenarios.sections import Section
from scenarios.suggestions import did_you_mean

LIBRARY = Path(__file__).parent / "sweeps"
_SCENARIO_SECTIONS = {"task", "protocol", "topology"}
_OWN_KEYS = {"seed": "seeds", "size": "size", "variant": "variants"}


def _file_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", value):
        raise ValueError(f'"{value}" cannot name a directory; use letters, digits and -')
    return value


def _no_duplicates(values: list[Any]) -> list[Any]:
    """Refuse what is equal by Python's rules, which 1 and 1.0 are."""
    seen: set[Any] = set()
    for value in values:
        known = repr(value) if isinstance(value, dict | list) else value
        if known in seen:
            raise ValueError(f'"{value}" is there twice; take one out')
        seen.add(known)
    return values


def _target(value: Any) -> Any:
    if value is None or value == "baseline":
        return value
    if type(value) not in (int, float) or not 0 < value <= 1:
        raise ValueError(f'"{value}" is neither an accuracy like 0.85 nor "baseline"; give one')
    return value


def _settings(values: dict[str, Any]) -> dict[str, Any]:
    for key, value in values.items():
        check_setting(key)
        if "." not in key and isinstance(value, dict):
            inner = next(iter(value), "key")
            raise ValueError(f'"{key}" is a table; write its keys in quotes, like "{key}.{inner}"')
    return values


def _lists_of_values(values: dict[str, Any]) -> dict[str, Any]:
    for key, value in values.items():
        if not isinstance(value, list) or not value:
            raise ValueError(f'"{key}" needs a list of values; write it like "{key}" = [1, 2]')
        _no_duplicates(value)
    return values


Seed = Annotated[int, Field(ge=0, lt=2**31)]
Seeds = Annotated[list[Seed], Field(min_length=1), AfterValidator(_no_duplicates)]
Variants = Annotated[list[str], Field(min_length=1), AfterValidator(_no_duplicates)]
Settings = Annotated[dict[str, Any], AfterValidator(_settings)]
Grid = Annotated[dict[str, Any], AfterValidator(_settings), AfterValidator(_lists_of_values)]


class Runs(Section):
    """One scenario of a sweep with its variants, seeds and settings."""

    scenario: str
    variants: Variants | None = None  # None: all of the scenario's
    size: str | None = None
    only_size: str | None = None  # leave these runs out at any other size
    seeds: Seeds | None = None
    set: Settings = Field(default_factory=dict)
    grid: Grid = Field(default_factory=dict)

    @model_validator(mode="after")
    def _set_once(self) -> "Runs":
        for key in self.grid:
            if key in self.set:
                raise ValueError(f'"{key}" is in set and in grid; take it out of one of them')
        return self


class Sweep(Section):
    """The runs of a sweep, and the options of the comparison at its end."""

    name: Annotated[str, AfterValidator(_file_name)]
    about: str = ""
    size: str | None = None
    seeds: Seeds | None = None  # None: each scenario's own
    baseline: str | None = None
    target: Annotated[float | Literal["baseline"] | None, BeforeValidator(_target)] = None
    rho: Annotated[float, Field(ge=0, le=1)] | None = None  # on cells: where accuracy is compared
    runs: Annotated[list[Runs], Field(min_length=1)]


def library() -> dict[str, Path]:
    """Return the sweeps that come with Metronome, by name."""
    return {path.stem: path for path in sorted(LIBRARY.glob("*.toml"))}


def read(name_or_file: str) -> Sweep:
    """Read a sweep by name or file; of a scenario, make a sweep over all of its variants."""
    path = library().get(name_or_file) or files.library().get(name_or_file) or Path(name_or_file)
    if not os.path.isfile(path):
        known = did_you_mean(name_or_file, [*library(), *files.library()])
        raise BadInput(
            f'sweep "{name_or_file}": neither a file nor the name of a sweep or scenario; {known}'
        )
    tree = files.read_tree(path)
    if "runs" not in tree and _SCENARIO_SECTIONS & tree.keys():
        tree = {"name": tree.get("name", path.stem), "runs": [{"scenario": str(path.resolve())}]}
    try:
        sweep = Sweep.model_validate(tree)
    except ValidationError as error:
        raise BadInput(f"{path}: {_sentence(error)}") from None
    return sweep.model_copy(
        update={
            "runs": [
                _with_scenario_path(runs, path.parent, n) for n, runs in enumerate(sweep.runs, 1)
            ]
        }
    )


def check_setting(key: str) -> None:
    """Raise ValueError for a setting for which sweeps have a key of their own (seed, size...)."""
    if own := _OWN_KEYS.get(key):
        raise ValueError(f'"{key}" cannot be set here; use "{own}"')


def _with_scenario_path(runs: Runs, folder: Path, number: int) -> Runs:
    """Replace the scenario by its path: from the library, or relative to the sweep file."""
    path = files.library().get(runs.scenario, folder / runs.scenario)
    if not os.path.isfile(path):
        raise BadInput(
            f'runs.{number}.scenario: "{runs.scenario}" is neither a file beside the sweep file '
            f"nor in the library; {did_you_mean(runs.scenario, files.library())}"
        )
    return runs.model_copy(update={"scenario": str(path)})


def _sentence(error: ValidationError) -> str:
    """Describe one problem in one sentence: where, what is wrong, what to do."""
    problem = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    path = [part + 1 if isinstance(part, int) else part for part in problem["loc"]]
    place = ".".join(map(str, path)) or "sweep"
    if problem["type"] == "extra_forbidden":
        known = Runs.model_fields if len(path) > 1 else Sweep.model_fields
        return f"{place}: unknown key; {did_you_mean(str(path[-1]), known)}"
    if problem["type"] == "missing":
        return f"{place}: missing; add this key (docs/scenarios.md describes it)"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "value_error":
        return f"{place}: {message}"  # our own message already names value and remedy
    value = problem["input"]
    given = f" (given: {value})" if isinstance(value, str | int | float) else ""
    return f"{place}: {message[0].lower()}{message[1:]}{given}; correct it (docs/scenarios.md)"
