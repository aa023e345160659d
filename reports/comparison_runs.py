"""Runs read back for a comparison: which directories hold one, and what its records say."""

import csv
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contracts.errors import BadInput
from contracts.provenance import Provenance
from reports.comparison_labels import identity
from reports.provenance import read_provenance, unreadable
from reports.rise import Rise, rise
from reports.traffic import ATTACHMENT
from scenarios.schema import Scenario


@dataclass(frozen=True)
class Point:
    """An evaluated round."""

    round: int
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class Run:
    """What a comparison needs of a run that came to its end."""

    path: Path
    name: str
    variant: str
    size: str
    protocol: str
    clock: str
    seed: int
    target: float | None
    verdict: str
    bytes_on_wire: float | None
    identity: Mapping[str, str]  # the resolved scenario without its seed, flattened
    points: tuple[Point, ...]
    carried: Mapping[int, int]  # bytes on the wire from the first round to this one
    elapsed: float | None = None  # seconds of the whole run
    by_rho: Mapping[float, float] = field(default_factory=dict)  # on cells: the last accuracy
    rho: float | None = None  # on cells: where the accuracy of the points was taken
    # Every number in summary.json by its key, for metrics that need nothing else.
    figures: Mapping[str, float] = field(default_factory=dict)
    time_by_part: Mapping[str, float] = field(default_factory=dict)  # shares, as `by_part` has them
    made_by: Provenance = field(default_factory=Provenance)

    def arrival(self, target: float | None) -> Point | None:
        """The first evaluated round at or above the target."""
        if target is None:
            return None
        return next((point for point in self.points if point.accuracy >= target), None)

    @cached_property
    def rise(self) -> Rise:
        return rise((point.round, point.seconds, point.accuracy) for point in self.points)


@dataclass(frozen=True)
class LeftOut:
    """A run that failed or cannot be read, and why."""

    path: Path
    cause: str


class _Unreadable(Exception):
    """The sentence says which record is missing or broken."""


def run_directories(places: Sequence[str]) -> list[Path]:
    """Of every run there, once, however often it is named."""
    found: dict[Path, Path] = {}
    for place in places:
        if not Path(place).is_dir():
            raise BadInput(f"{place}: no such directory; name a run's, or one that holds runs")
        try:
            inside = list(find_runs(Path(place)))
        except OSError as error:
            raise BadInput(
                f"{error.filename}: cannot be read ({error.strerror}); check its permissions"
            ) from None
        if not inside:
            raise BadInput(f"{place}: no run in it; name a run's directory, or one that holds runs")
        for path in inside:
            found.setdefault(path.resolve(), path)
    return list(found.values())


def read_runs(places: Sequence[str]) -> tuple[list[Run], list[LeftOut]]:
    """Every run there, and those that cannot be compared."""
    read = [_read(path) for path in run_directories(places)]
    return [r for r in read if isinstance(r, Run)], [r for r in read if isinstance(r, LeftOut)]


def is_run(path: Path) -> bool:
    """A plan without a summary is a run as well: one that goes on, or was killed."""
    return (path / "summary.json").is_file() or (path / "plan.json").is_file()


def find_runs(place: Path) -> Iterator[Path]:
    """The directory itself when it is a run's, else the runs at any depth below it."""
    if is_run(place):
        yield place
        return
    for child in sorted(place.iterdir()):
        # A link to a directory above would lead round in circles.
        circular = child.is_symlink() and place.resolve().is_relative_to(child.resolve())
        if child.is_dir() and not child.name.startswith(".") and not circular:
            yield from find_runs(child)


def _read(path: Path) -> Run | LeftOut:
    made_by = read_provenance(path)
    try:
        summary = _summary(path / "summary.json")
        if summary.get("failure") is not None:
            return LeftOut(path, f"failed: {summary['failure']}")
        scenario = _scenario(path / "scenario.toml")
        by_rho = {float(rho): float(a) for rho, a in (summary.get("accuracy_by_rho") or {}).items()}
        return Run(
            path=path,
            name=str(summary["name"]),
            variant=str(summary.get("variant") or scenario.get("variant") or ""),
            size=str(scenario.get("size") or ""),
            protocol=str(summary["protocol"]),
            clock=str(summary["clock"]),
            seed=int(summary["seed"]),
            target=_number(summary["target_accuracy"]),
            verdict=str((summary.get("fidelity") or {}).get("verdict", "not known")),
            bytes_on_wire=_number(summary["bytes_on_wire"]),
            identity=identity(scenario),
            points=tuple(_points(path / "rounds.csv")),
            carried=_carried(path / "links.csv"),
            elapsed=_number(summary.get("elapsed_seconds")),
            by_rho=by_rho,
            rho=next(iter(by_rho), None),
            figures=_figures(summary),
            time_by_part=(summary.get("bottleneck") or {}).get("by_part") or {},
            made_by=made_by,
        )
    except _Unreadable as error:
        return LeftOut(path, str(error))
    except KeyError as error:
        return LeftOut(path, f"summary.json has no {error.args[0]}")
    except (OSError, ValueError, TypeError, AttributeError) as error:
        return LeftOut(path, unreadable(made_by, error))


def _summary(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise _Unreadable("no summary.json: it is still running, or was killed")
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise _Unreadable("summary.json is not valid JSON") from None
    if not isinstance(summary, dict):
        raise _Unreadable("summary.json holds no table")
    return summary


def _scenario(path: Path) -> dict[str, Any]:
    """As plain data, with the defaults of keys that came later than the run."""
    if not path.exists():
        raise _Unreadable("no scenario.toml, so it cannot be said what was run")
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise _Unreadable("scenario.toml is not valid TOML") from None
    try:
        return Scenario.model_validate(tree).model_dump(exclude_none=True)
    except ValidationError:
        return tree  # the schema has moved on since; the run is still worth comparing


def _figures(summary: Mapping[str, Any]) -> dict[str, float]:
    numbers = {key: value for key, value in summary.items() if isinstance(value, int | float)}
    return {key: float(value) for key, value in numbers.items() if not isinstance(value, bool)}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _points(path: Path) -> Iterator[Point]:
    if not path.exists():
        raise _Unreadable("no rounds.csv")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                if row["accuracy"]:
                    seconds, accuracy = float(row["elapsed_seconds"]), float(row["accuracy"])
                    yield Point(int(row["round"]), seconds, accuracy)
            except (KeyError, TypeError, ValueError):
                raise _Unreadable("rounds.csv is not what a run writes") from None


def _carried(path: Path) -> dict[int, int]:
    """Empty when the links were not counted."""
    by_round: Counter[int] = Counter()
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                try:
                    carried = int(row["bytes_up"]) + int(row["bytes_down"])
                    carried -= sum(int(row.get(f"background_{way}") or 0) for way in ("up", "down"))
                    by_round[int(row["round"])] += carried if row["tier"] != ATTACHMENT else 0
                except (KeyError, TypeError, ValueError):
                    raise _Unreadable("links.csv is not what a run writes") from None
    by_round[0] = 0  # the joining is not counted
    rounds = sorted(by_round)
    return dict(zip(rounds, accumulate(by_round[r] for r in rounds), strict=True))
