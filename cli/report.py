"""`metronome report` and `metronome figures`: a page and charts from the records of runs."""

from collections.abc import Sequence
from pathlib import Path

from cli.compare import new_directory
from contracts.errors import BadInput
from contracts.provenance import Provenance
from contracts.run_directory import RunDirectory
from reports.comparison.runs import run_directories
from reports.page.html import write_report
from reports.records.provenance import (
    older_schema_warnings,
    read_provenance,
    refusing_unreadable,
)
from reports.records.run_records import RunRecords
from runner.handing_back import make_directory


def report(runs: Sequence[str], out: str | None) -> int:
    """Write one HTML page on all of these runs."""
    found, made = _read_all(runs)
    path = RunDirectory(_directory(runs, out, "report")).report
    with refusing_unreadable(made):
        try:
            make_directory(path.parent)
            write_report(path, found)
        except OSError as error:
            raise _cannot_write(path, error) from None
    print(f"written: {path}")
    return 0


def figures(runs: Sequence[str], out: str | None, round: int | None) -> int:
    """Write every chart of these runs; charts that compare show all runs in one."""
    from reports.figures.paper import write_figures

    found, made = _read_all(runs)
    missing = [
        str(r.directory) for r in found if round is not None and round not in r.critical_paths
    ]
    if missing:
        raise BadInput(f"--round {round}: {missing[0]} finished no such round; name another one")
    directory = Path(out) if out else RunDirectory(_directory(runs, None, "figures")).figures
    with refusing_unreadable(made):
        try:
            make_directory(directory)
            names = write_figures(directory, found, round)
        except OSError as error:
            raise _cannot_write(directory, error) from None
    print(f"written: {', '.join(names)} as SVG and PDF in {directory}")
    return 0


def _read_all(runs: Sequence[str]) -> tuple[list[RunRecords], dict[Path, Provenance]]:
    """Read the records of all runs and what made them; warn about those of an older format."""
    made = {path: read_provenance(path) for path in run_directories(runs)}
    found = [_read(path, by) for path, by in made.items()]
    for sentence in older_schema_warnings((str(path), by) for path, by in made.items()):
        print(f"warning: {sentence}")
    return found, made


def _read(path: Path, made: Provenance) -> RunRecords:
    with refusing_unreadable({path: made}):
        return RunRecords.read(path)


def _directory(runs: Sequence[str], out: str | None, word: str) -> Path:
    """Choose where to write: `--out`, the one run's or sweep's own directory, or a new one."""
    if out is not None:
        return Path(out)
    return Path(runs[0]) if len(runs) == 1 else new_directory(word)


def _cannot_write(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"--out {path}: cannot be written ({error.strerror}); name a directory you may write to"
    )
