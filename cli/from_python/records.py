"""Runs and comparisons as Python sees them: records as columns, and figures."""

import csv
import io
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from cli.from_python.shown import Figure, table
from contracts.errors import BadInput
from contracts.run_directory import RunDirectory
from contracts.tables import LINK_COLUMNS, ROUND_COLUMNS
from reports import columns
from reports.comparison.csv_table import comparison_csv
from reports.comparison.groups import Target, compare_runs
from reports.comparison.runs import read_runs
from reports.figures.comparison import draw_comparison
from reports.records.run_records import RunRecords

_SHOWN = ("protocol", "rounds", "elapsed_seconds", "final_accuracy", "time_to_target_seconds")


class Run:
    """One run's directory; `rounds`, `events` and `links` are its records, as columns."""

    def __init__(self, path: Path) -> None:
        if not RunDirectory(path).holds_a_run:
            raise BadInput(f"{path}: holds no run; name a run's directory")
        self.path = path.resolve()
        self._files = RunDirectory(self.path)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What summary.json says; empty while the run goes on."""
        return RunRecords(self.path).summary

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, as plain data."""
        return RunRecords(self.path).scenario

    @property
    def rounds(self) -> Any:
        """A row for each global round: accuracy, loss, and where its time went."""
        return columns.frame(columns.of_table(self._files.rounds, ROUND_COLUMNS))

    @property
    def events(self) -> Any:
        """A row for each phase of each node."""
        return columns.frame(columns.of_lines(self._files.events))

    @property
    def links(self) -> Any:
        """A row for each link and round: bytes, packets and drops."""
        return columns.frame(columns.of_table(self._files.links, LINK_COLUMNS))

    @property
    def figures(self) -> list[str]:
        """The names of the figures that there are."""
        return sorted(path.stem for path in self.path.glob("*.png"))

    def figure(self, name: str = "accuracy") -> Figure:
        """Return a figure by its name; a notebook shows it."""
        if name not in self.figures:
            raise BadInput(f'figure "{name}": there are {", ".join(self.figures) or "none yet"}')
        return Figure(self.path / f"{name}.png")

    def __repr__(self) -> str:
        said = {key: self.summary.get(key) for key in _SHOWN}
        return f"Run({str(self.path)!r}, {', '.join(f'{k}={v!r}' for k, v in said.items())})"

    def _repr_html_(self) -> str:
        rows = [(key, self.summary.get(key)) for key in ("name", "seed", *_SHOWN)]
        verdict = (self.summary.get("fidelity") or {}).get("verdict")
        return table(("run", str(self.path)), [*rows, ("fidelity", verdict)])


class Comparison:
    """Runs side by side: `table` has a row for each group of runs that differ in the seed only."""

    def __init__(self, runs: Sequence[Path], target: Target, baseline: str | None) -> None:
        found, left_out = read_runs([str(path) for path in runs])
        self._compared = compare_runs(found, left_out, target, baseline)

    @property
    def table(self) -> Any:
        """The numbers of comparison.csv, as columns."""
        return columns.frame(self._columns)

    @property
    def warnings(self) -> list[str]:
        """What makes the runs harder to compare, a sentence each."""
        return list(self._compared.warnings)

    def draw(self, path: str | Path, over_rounds: bool = False) -> Figure:
        """Draw accuracy over time, or over rounds, to a file; a notebook shows it."""
        draw_comparison(Path(path), self._compared, over_rounds=over_rounds)
        return Figure(Path(path))

    @cached_property
    def _columns(self) -> columns.Columns:
        rows = csv.DictReader(io.StringIO(comparison_csv(self._compared)))
        return columns.of_rows(map(columns.numbers, rows))

    def _repr_html_(self) -> str:
        wanted = ("label", "runs", "final_accuracy_mean", "time_to_target_seconds_mean", "fidelity")
        known = [name for name in wanted if name in self._columns]
        return table(known, zip(*(self._columns[name] for name in known), strict=True))


class Study:
    """The runs of a sweep, and their comparison."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.runs = [Run(part) for part in sorted(path.iterdir()) if RunDirectory(part).holds_a_run]

    def compare(self, target: Target = None, baseline: str | None = None) -> Comparison:
        """Compare all runs of the sweep."""
        return Comparison([run.path for run in self.runs], target, baseline)

    @property
    def figures(self) -> list[str]:
        """The names of the figures that the sweep drew."""
        return sorted(path.stem for path in self.path.glob("*.png"))

    def figure(self, name: str = "comparison") -> Figure:
        """Return a figure by its name; a notebook shows it."""
        if name not in self.figures:
            raise BadInput(f'figure "{name}": there are {", ".join(self.figures) or "none"}')
        return Figure(self.path / f"{name}.png")

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {len(self.runs)} runs)"

    def _repr_html_(self) -> str:
        return self.compare()._repr_html_()
