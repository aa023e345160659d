"""Tasks, results and errors as files: how nodes and workers hand them over in the spool."""

from dataclasses import fields
from pathlib import Path

from contracts.messages import Kind
from contracts.spool import unfinished
from contracts.storage import about
from contracts.training import Result, Task
from protocols.wire import Expected, Message, read_file, write_file

_TASK_FIELDS = [field.name for field in fields(Task) if field.name != "tensors"]
_RESULT_FIELDS = [field.name for field in fields(Result) if field.name != "tensors"]


def write_task(path: Path, task: Task) -> None:
    """Write a task as a file in the wire format."""
    meta = {name: getattr(task, name) for name in _TASK_FIELDS}
    write_file(path, Message(Kind.TASK, task.job, 0, meta, task.tensors))


def read_task(path: Path) -> Task:
    """Read a task back."""
    message = read_file(path, Expected(kinds=frozenset({Kind.TASK})))
    return Task(**message.meta, tensors=message.tensors)


def write_result(path: Path, job: str, result: Result) -> None:
    """Write a result as a file in the wire format."""
    meta = {name: getattr(result, name) for name in _RESULT_FIELDS}
    write_file(path, Message(Kind.RESULT, job, 0, meta, result.tensors))


def read_result(path: Path) -> Result:
    """Read a result back."""
    message = read_file(path, Expected(kinds=frozenset({Kind.RESULT})))
    return Result(**message.meta, tensors=message.tensors)


def write_error(path: Path, sentence: str) -> None:
    """Write why a job failed, under a temporary name and then renamed."""
    aside = unfinished(path)
    with about(path):
        aside.write_text(sentence, encoding="utf-8")
        aside.rename(path)
