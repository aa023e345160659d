"""The spool: a directory through which nodes and host processes hand each other files.

jobs/X.task        written by a node
jobs/X.claimed-I   the same file, taken by worker I
results/X.result   what it trained, or results/X.error with the reason
evaluate/X.model   models to evaluate, with round and key in their meta
stop, evaluate/stop   tell the workers, and the evaluator, to end

Names starting with a dot are files still being written.
"""

from dataclasses import fields
from pathlib import Path

from contracts.training import Result, Task
from protocols.wire import Expected, Message, read_file, write_file

TASK, RESULT, ERROR, MODEL = ".task", ".result", ".error", ".model"
STOP = "stop"

_TASK_FIELDS = [field.name for field in fields(Task) if field.name != "tensors"]
_RESULT_FIELDS = [field.name for field in fields(Result) if field.name != "tensors"]


class Spool:
    """Where each file of a spool lies."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.jobs = root / "jobs"
        self.results = root / "results"
        self.evaluate = root / "evaluate"
        self.stop = root / STOP

    def create(self) -> None:
        """Make the directories that are not there yet."""
        for directory in (self.jobs, self.results, self.evaluate):
            directory.mkdir(parents=True, exist_ok=True)

    def task(self, job: str) -> Path:
        """A job that waits for a worker."""
        return self.jobs / f"{job}{TASK}"

    def claimed(self, job: str, index: int) -> Path:
        """A job that worker `index` works on."""
        return self.jobs / f"{job}.claimed-{index}"

    def claims(self, index: int) -> list[str]:
        """The jobs that worker `index` has taken and not finished."""
        ending = f".claimed-{index}"
        names = [path.name for path in self.jobs.iterdir() if path.name.endswith(ending)]
        return [name.removesuffix(ending) for name in sorted(names)]

    def result(self, job: str) -> Path:
        """What a job gave."""
        return self.results / f"{job}{RESULT}"

    def error(self, job: str) -> Path:
        """Why a job gave nothing."""
        return self.results / f"{job}{ERROR}"

    def ready(self, index: int) -> Path:
        """Says that a worker has loaded all it needs."""
        return self.root / f"ready-{index}"

    def stats(self, index: int) -> Path:
        """One line per job that worker `index` trained: the host seconds it took."""
        return self.root / f"worker-{index}.stats"


def oldest(directory: Path, ending: str) -> list[Path]:
    """The finished files with this ending, oldest first; those of one time by name."""
    found = []
    for path in directory.iterdir():
        if path.name.endswith(ending) and not path.name.startswith("."):
            try:
                found.append((path.stat().st_mtime_ns, path.name, path))
            except FileNotFoundError:  # somebody else took it just now
                continue
    return [path for _, _, path in sorted(found)]


def write_task(path: Path, task: Task) -> None:
    """Write a task in the wire's file form."""
    meta = {name: getattr(task, name) for name in _TASK_FIELDS}
    write_file(path, Message("task", task.job, 0, meta, task.tensors))


def read_task(path: Path) -> Task:
    """Read a task back."""
    message = read_file(path, Expected(kinds=frozenset({"task"})))
    return Task(**message.meta, tensors=message.tensors)


def write_result(path: Path, job: str, result: Result) -> None:
    """Write a result in the wire's file form."""
    meta = {name: getattr(result, name) for name in _RESULT_FIELDS}
    write_file(path, Message("result", job, 0, meta, result.tensors))


def read_result(path: Path) -> Result:
    """Read a result back."""
    message = read_file(path, Expected(kinds=frozenset({"result"})))
    return Result(**message.meta, tensors=message.tensors)


def write_error(path: Path, sentence: str) -> None:
    """Write why a job failed, aside and then renamed like all else here."""
    aside = path.with_name(f".{path.name}")
    aside.write_text(sentence, encoding="utf-8")
    aside.rename(path)
