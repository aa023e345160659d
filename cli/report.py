"""`metronome report` and `metronome figures`: what runs have left, to look at and to print."""

from collections.abc import Sequence
from pathlib import Path

from cli.compare import new_directory
from reports.comparison_runs import run_directories
from reports.report import write_report
from reports.run_records import RunRecords
from scenarios.errors import BadInput


def report(runs: Sequence[str], out: str | None) -> int:
    """One page for all of them."""
    found = [_read(path) for path in run_directories(runs)]
    path = _directory(runs, out, "report") / "report.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_report(path, found)
    except OSError as error:
        raise _cannot_write(path, error) from None
    print(f"written: {path}")
    return 0


def figures(runs: Sequence[str], out: str | None) -> int:
    """Every chart of every run, in a folder of its own where there are several."""
    from reports.paper_figures import write_figures

    found = [_read(path) for path in run_directories(runs)]
    directory = _directory(runs, out, "figures")
    place = directory if out is not None else directory / "figures"
    try:
        for records in found:
            own = place if len(found) == 1 else place / records.directory.resolve().name
            own.mkdir(parents=True, exist_ok=True)
            names = write_figures(own, records)
            print(f"written: {', '.join(names)} as SVG and PDF in {own}")
    except OSError as error:
        raise _cannot_write(place, error) from None
    return 0


def _read(path: Path) -> RunRecords:
    try:
        return RunRecords.read(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: its records cannot be read ({error}); name another run") from None


def _directory(runs: Sequence[str], out: str | None, word: str) -> Path:
    """The one run's or sweep's own, or a new one."""
    if out is not None:
        return Path(out)
    return Path(runs[0]) if len(runs) == 1 else new_directory(word)


def _cannot_write(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"--out {path}: cannot be written ({error.strerror}); name a directory you may write to"
    )
