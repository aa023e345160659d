"""`metronome resume RUN`: goes on with a run that was killed or interrupted, or that failed.

The run is done again from its beginning, in the same directory. All that it had trained and
evaluated is remembered, so that this takes little time, and on the virtual clock its records come
out as if nothing had happened.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from cli.plugins import bring_anew
from cli.run import execute
from cli.sweep.directories import summary_of
from contracts.errors import BadInput
from contracts.run_directory import RunDirectory
from learning.training.run_data import learning_settings
from runner.run_lock import busy
from scenarios import loader
from scenarios.schema import Scenario


def resume(directory: str, live: int | None = None, words: Sequence[str] = ()) -> int:
    """Go on with a run; return its exit code, or 0 at once if it has finished.

    It has the plug-ins that it began with, but for those that `words` replace.
    """
    run_dir = Path(directory).resolve()
    files, console = RunDirectory(run_dir), Console()
    if not files.scenario.is_file() or not files.learning.is_file():
        raise BadInput(f"{directory}: holds no run that was begun; name a run's directory")
    with busy(run_dir):
        if _finished(run_dir):
            words = f"{directory}: has finished; there is nothing to go on with"
            console.print(words, highlight=False, soft_wrap=True)
            return 0
        bring_anew(words, files.plugins)
        scenario, data_dir = _scenario(files.scenario), _data_directory(run_dir)
        if scenario.clock == "wall":
            console.print("on the wall clock this is a new run: its times will differ from before")
        if not scenario.compute.remember:
            console.print("this run remembers nothing (compute.remember): all is trained again")
        return execute(scenario, data_dir, run_dir, live=live, clear=_remove_records)


def _scenario(file: Path) -> Scenario:
    try:
        return loader.load(str(file))
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None


def _data_directory(run_dir: Path) -> Path | None:
    try:
        found = learning_settings(run_dir)["data_dir"]
        return Path(found) if found else None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(
            f"{RunDirectory(run_dir).learning}: is damaged; run {RunDirectory(run_dir).scenario} "
            "in a new directory, with --data if it had that"
        ) from None


def _finished(run_dir: Path) -> bool:
    summary = summary_of(run_dir)
    return summary is not None and summary.get("failure") is None


def _remove_records(run_dir: Path) -> None:
    """Remove what the first attempt left, and nothing else that is in the directory.

    What a further resume would need stays until it is replaced.
    """
    kept = (RunDirectory.scenario.name, RunDirectory.learning.name, RunDirectory.plugins.name)
    for name in set(RunDirectory.names()).difference(kept):
        path = run_dir / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for path in (*RunDirectory(run_dir).final_models, *run_dir.glob("decisions*.png")):
        path.unlink()
