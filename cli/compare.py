"""`metronome compare`: compares runs in tables and figures."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from contracts.errors import BadInput
from contracts.run_directory import RunDirectory
from reports.comparison.csv_table import comparison_csv
from reports.comparison.groups import Comparison, Target, compare_runs
from reports.comparison.over_settings import SettingsComparison, compare_over_settings
from reports.comparison.over_settings_table import over_csv
from reports.comparison.rho import RhoCurves, curves_by_rho, rho_csv, with_accuracy_at_rho
from reports.comparison.runs import read_runs
from reports.comparison.table import markdown, show
from reports.figures.comparison import draw_comparison
from reports.figures.over_settings import draw_over_settings
from reports.figures.rho import draw_rho
from reports.records.atomic_files import write_text_atomically
from runner.handing_back import make_directory, make_new_directory

RUNS = Path("runs")


def compare(
    runs: Sequence[str],
    target: Target,
    baseline: str | None,
    out: str | None,
    over: Sequence[str] = (),
    rho: float | None = None,
) -> int:
    """Compare the runs, print the table, and write tables and figures to a directory."""
    found, left_out = read_runs(runs)
    if rho is not None and found:
        found = with_accuracy_at_rho(found, rho)
    comparison = compare_runs(found, left_out, target, baseline)
    grid = compare_over_settings(found, over, target, baseline) if over else None
    curves = curves_by_rho(comparison)
    notes = [note for part in (grid, curves) if part is not None for note in part.notes]
    comparison = dataclasses.replace(comparison, notes=tuple(notes))
    console = Console()
    show(comparison, console)
    directory = _directory(runs, out)
    written = write_comparison(comparison, directory, grid, curves)
    console.print(f"written: {', '.join(written)} in {directory}", soft_wrap=True, markup=False)
    return 0


def write_comparison(
    comparison: Comparison,
    directory: Path,
    grid: SettingsComparison | None = None,
    curves: RhoCurves | None = None,
) -> list[str]:
    """Write tables and figures, and return the names of the files."""
    names = ["comparison.csv", "comparison.md", "comparison.png", "comparison-rounds.png"]
    try:
        make_directory(directory)
        write_text_atomically(directory / "comparison.csv", comparison_csv(comparison))
        write_text_atomically(directory / "comparison.md", markdown(comparison))
        draw_comparison(directory / "comparison.png", comparison)
        draw_comparison(directory / "comparison-rounds.png", comparison, over_rounds=True)
        if grid is not None:
            names += ["comparison-over.csv", "comparison-over.png"]
            write_text_atomically(directory / "comparison-over.csv", over_csv(grid))
            draw_over_settings(directory / "comparison-over.png", grid)
        if curves is not None:
            names += ["comparison-rho.csv", "comparison-rho.png"]
            write_text_atomically(directory / "comparison-rho.csv", rho_csv(curves))
            draw_rho(directory / "comparison-rho.png", curves)
    except OSError as error:
        raise BadInput(
            f"--out {directory}: cannot be written ({error.strerror}); "
            "name a directory you may write to"
        ) from None
    return names


def _directory(runs: Sequence[str], out: str | None) -> Path:
    """Choose where to write: `--out`, the one sweep's own directory, or a new one."""
    if out is not None:
        return Path(out)
    if len(runs) == 1 and not RunDirectory(Path(runs[0])).holds_a_run:
        return Path(runs[0])
    return new_directory("comparison")


def new_directory(name: str) -> Path:
    """Make a new directory under runs/, named after its content and the time."""
    path = RUNS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        return make_new_directory(path)
    except OSError as error:
        words = f"{path}: cannot be made ({error.strerror}); name a directory with --out"
        raise BadInput(words) from None
