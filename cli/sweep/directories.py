"""The directory of a sweep: its lock, the paths of each run, and which runs are finished."""

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts import plugins, progress
from contracts.errors import BadInput
from contracts.run_directory import RunDirectory
from reports.records.record_files import UnreadableRecord
from reports.records.run_records import RunRecords
from runner.handing_back import make_directory
from runner.run_lock import busy
from scenarios import loader
from scenarios.brought import parts_by_name
from scenarios.expansion import SweepRun
from scenarios.schema import Scenario

# Any of these shows that a directory is a run's.
_MARKS = {entry.name for entry in (RunDirectory.plan, RunDirectory.scenario, RunDirectory.logs)}


@dataclass(frozen=True)
class RunPaths:
    """The directory of one run, and the files about it beside that directory."""

    directory: Path
    scenario: Path
    log: Path
    progress: Path  # exists while the run goes on


def run_paths(out: Path, run: SweepRun) -> RunPaths:
    """Return the paths of a run in the sweep's directory."""
    beside = (out / f"{run.id}.{ending}" for ending in ("toml", "log", "progress.json"))
    return RunPaths(out / run.id, *beside)


@contextlib.contextmanager
def locked_directory(out: Path) -> Iterator[int]:
    """Create the directory and lock it against other sweeps; yields the lock's descriptor.

    The runs inherit the descriptor: if the sweep is killed, the next one cannot start before its
    runs have ended.
    """
    try:
        make_directory(out)
        lock = open(out / ".lock", "a")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise BadInput(
            f"--out {out}: cannot be used ({error.strerror}); name a directory you may write to"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"--out {out}: another sweep is at work here; wait for its end or name another"
            ) from None
        yield lock.fileno()


def is_finished(out: Path, run: SweepRun) -> bool:
    """Whether this very run has finished already.

    Raises BadInput if something else is in its place: not a run, or one of another scenario.
    """
    directory = run_paths(out, run).directory
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise BadInput(f"{directory}: in the way, and no run; move it or name another --out")
    if not directory.exists():
        return False
    summary = summary_of(directory)
    if summary is not None and summary.get("failure") is None:
        if not _same(RunDirectory(directory).scenario, run.scenario):
            raise BadInput(
                f"{directory}: finished, but its scenario was another than now; "
                "name another --out, or delete that run to repeat it"
            )
        _check_code(directory, run.scenario)
        return True
    names = {path.name for path in directory.iterdir()}
    if names and not names.intersection(_MARKS):
        raise BadInput(f"{directory}: in the way, and no run; move it or name another --out")
    return False


def _check_code(directory: Path, scenario: Scenario) -> None:
    """Refuse to take a run for finished that was done with other code of a plug-in."""
    noted = plugins.copies(RunDirectory(directory).plugins)
    for known, name in parts_by_name(scenario):
        then = [one["digest"] for one in noted if name in one["brings"].get(known.kind, ())]
        if then != list(filter(None, [known.code(name)])):
            raise BadInput(
                f'{directory}: finished, but its {plugins.KINDS[known.kind]} "{name}" was other '
                "code than now; name another --out, or delete that run to repeat it"
            )


def remove_attempt(paths: RunPaths) -> None:
    """Remove what an unfinished attempt at this run left."""
    if paths.directory.exists():
        with busy(paths.directory):
            shutil.rmtree(paths.directory)
    paths.log.unlink(missing_ok=True)
    progress.remove(paths.progress)


def summary_of(directory: Path) -> dict[str, Any] | None:
    """Read the run's summary.json; None if it is missing or cannot be read."""
    try:
        return RunRecords(directory).summary or None
    except (OSError, UnreadableRecord):
        return None


def _same(file: Path, wanted: Scenario) -> bool:
    """Whether the scenario in the file has the same results as the one wanted.

    Descriptions, the number of workers, what is remembered and measured devices may differ.
    """
    try:
        found = loader.load(str(file))
    except BadInput:
        return False
    devices = {
        role: found.devices.get(role, device) if device.measured else device
        for role, device in wanted.devices.items()
    }
    free = ("workers", "remember")
    compute = wanted.compute.model_copy(update={key: getattr(found.compute, key) for key in free})
    same = {"about": found.about, "devices": devices, "compute": compute}
    return found == wanted.model_copy(update=same)
