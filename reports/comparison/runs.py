"""Find the runs in some directories and read what a comparison needs of them."""

import os.path
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from contracts.errors import BadInput
from contracts.provenance import Provenance
from contracts.run_directory import RunDirectory
from reports.comparison.labels import identity
from reports.comparison.rise_time import RiseTimes, rise_times
from reports.records.provenance import explain_unreadable, read_provenance
from reports.records.record_files import UnreadableRecord
from reports.records.rounds import RoundRow
from reports.records.run_records import RunRecords
from reports.records.traffic import bytes_by_round
from scenarios.schema import Scenario


@dataclass(frozen=True)
class Point:
    """A round whose model was evaluated."""

    round: int
    seconds: float
    accuracy: float


@dataclass(frozen=True)
class Run:
    """What a comparison needs of a finished run."""

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
        """Return the first evaluated round at or above the target."""
        if target is None:
            return None
        return next((point for point in self.points if point.accuracy >= target), None)

    @cached_property
    def rise_times(self) -> RiseTimes:
        """How soon the run became accurate."""
        return rise_times((point.round, point.seconds, point.accuracy) for point in self.points)


@dataclass(frozen=True)
class LeftOut:
    """A run that failed or cannot be read, and why."""

    path: Path
    cause: str


def run_directories(places: Sequence[str]) -> list[Path]:
    """Return the directory of every run in these places, once however often it is named."""
    found: dict[Path, Path] = {}
    for place in places:
        if not os.path.isdir(place):
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
            found.setdefault(_real(path), path)
    return list(found.values())


def read_runs(places: Sequence[str]) -> tuple[list[Run], list[LeftOut]]:
    """Read every run in these places; return those that can be compared, and those that cannot."""
    read = [_read(path) for path in run_directories(places)]
    return [r for r in read if isinstance(r, Run)], [r for r in read if isinstance(r, LeftOut)]


def find_runs(place: Path) -> Iterator[Path]:
    """Yield the directory itself if it is a run's, or else the runs at any depth below it."""
    if RunDirectory(place).holds_a_run:
        yield place
        return
    for child in sorted(place.iterdir()):
        # A link to a parent directory would cause endless recursion.
        circular = child.is_symlink() and _real(place).is_relative_to(_real(child))
        if child.is_dir() and not child.name.startswith(".") and not circular:
            yield from find_runs(child)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` fails on a link to itself


def _read(path: Path) -> Run | LeftOut:
    made_by = read_provenance(path)
    records = RunRecords(path)
    files = records.files
    if not files.summary.exists():
        return LeftOut(path, "no summary.json: it is still running, or was killed")
    try:
        summary = records.summary
        if summary.get("failure") is not None:
            return LeftOut(path, f"failed: {summary['failure']}")
        if not files.scenario.exists():
            return LeftOut(path, "no scenario.toml, so it cannot be said what was run")
        if not files.rounds.exists():
            return LeftOut(path, "no rounds.csv")
        scenario = _scenario(records)
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
            points=_points(records.written_rounds),
            carried=bytes_by_round(records.links),
            elapsed=_number(summary.get("elapsed_seconds")),
            by_rho=by_rho,
            rho=next(iter(by_rho), None),
            figures=_figures(summary),
            time_by_part=(summary.get("bottleneck") or {}).get("by_part") or {},
            made_by=made_by,
        )
    except UnreadableRecord as error:
        return LeftOut(path, str(error))
    except KeyError as error:
        return LeftOut(path, f"summary.json has no {error.args[0]}")
    except Exception as error:  # whatever else records that no run wrote may cause
        return LeftOut(path, explain_unreadable(made_by, error))


def _scenario(records: RunRecords) -> dict[str, Any]:
    """Return the scenario as plain data, with defaults for keys that are newer than the run."""
    try:
        return Scenario.model_validate(records.scenario).model_dump(exclude_none=True)
    except ValidationError:
        return records.scenario  # written for another schema, but still worth comparing


def _figures(summary: Mapping[str, Any]) -> dict[str, float]:
    numbers = {key: value for key, value in summary.items() if isinstance(value, int | float)}
    return {key: float(value) for key, value in numbers.items() if not isinstance(value, bool)}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _points(rows: Sequence[RoundRow]) -> tuple[Point, ...]:
    return tuple(
        Point(row.round, row.elapsed_seconds, row.accuracy)
        for row in rows
        if row.accuracy is not None
    )
