"""`metronome compare`: runs side by side, as tables and figures."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from reports.comparison import Comparison, compare_runs
from reports.comparison_csv import comparison_csv
from reports.comparison_figure import draw_comparison
from reports.comparison_runs import is_run, read_runs
from reports.comparison_table import markdown, show
from reports.replace import replace_text
from scenarios.errors import BadInput

RUNS = Path("runs")


def compare(
    runs: Sequence[str], target: float | None, baseline: str | None, out: str | None
) -> int:
    """Show the comparison and leave it in a directory."""
    found, left_out = read_runs(runs)
    comparison = compare_runs(found, left_out, target, baseline)
    console = Console()
    show(comparison, console)
    directory = _directory(runs, out)
    written = write(comparison, directory)
    console.print(f"written: {', '.join(written)} in {directory}", soft_wrap=True, markup=False)
    return 0


def write(comparison: Comparison, directory: Path) -> list[str]:
    """Tables and figures; the names of the files."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        replace_text(directory / "comparison.csv", comparison_csv(comparison))
        replace_text(directory / "comparison.md", markdown(comparison))
        draw_comparison(directory / "comparison.png", comparison)
        draw_comparison(directory / "comparison-rounds.png", comparison, over_rounds=True)
    except OSError as error:
        raise BadInput(
            f"--out {directory}: cannot be written ({error.strerror}); "
            "name a directory you may write to"
        ) from None
    return ["comparison.csv", "comparison.md", "comparison.png", "comparison-rounds.png"]


def _directory(runs: Sequence[str], out: str | None) -> Path:
    """The one sweep's own directory, or a new one."""
    if out is not None:
        return Path(out)
    if len(runs) == 1 and not is_run(Path(runs[0])):
        return Path(runs[0])
    path = RUNS / f"comparison-{time.strftime('%Y%m%d-%H%M%S')}"
    while path.exists():
        path = path.with_name(path.name + "x")
    return path
