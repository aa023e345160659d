"""Evaluates models off the clock, a process on the host.

python -m learning.evaluator --run RUN --spool SPOOL takes the models laid into the spool's evaluate
directory, oldest first, and adds one line for each to RUN/evaluations.jsonl.
"""

import json
import math
import os
from pathlib import Path
from typing import Any

import torch

from learning.context import Context
from learning.evaluation import evaluate
from learning.hostprocess import Parent, parser, work_until
from learning.spool import MODEL, STOP, Spool, oldest
from protocols.wire import Refused, read_file


class Evaluator:
    """Turns models into lines of accuracy and loss."""

    def __init__(self, directory: Path, lines: Path, context: Context) -> None:
        self._directory = directory
        self._lines = lines
        self._context = context

    def step(self) -> bool:
        """Evaluate the oldest model; whether there was one."""
        for path in oldest(self._directory, MODEL)[:1]:
            line = json.dumps(self._evaluated(path), allow_nan=False)
            with self._lines.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            path.unlink()
            return True
        return False

    def _evaluated(self, path: Path) -> dict[str, Any]:
        """A model that cannot be evaluated has its reason in the line: the others still count."""
        line: dict[str, Any] = {"round": None, "key": path.name.removesuffix(MODEL)}
        line |= {"accuracy": None, "loss": None}
        try:
            message = read_file(path)
            line |= {"round": message.meta["round"], "key": message.meta["key"]}
            accuracy, loss = evaluate(message.tensors, self._context)
        except (Refused, KeyError, ValueError, RuntimeError) as error:
            return line | {"error": f"{type(error).__name__}: {error}"}
        return line | {"accuracy": accuracy, "loss": loss if math.isfinite(loss) else None}


def main() -> None:
    """Evaluate until the stop file is there and no model is left, or the parent is gone."""
    arguments = parser("Evaluate the models of a spool.", nice=19).parse_args()
    parent = Parent(arguments.parent)
    os.nice(arguments.nice)
    torch.set_num_threads(1)
    directory = Spool(arguments.spool).evaluate
    lines = arguments.run / "evaluations.jsonl"
    evaluator = Evaluator(directory, lines, Context.load(arguments.run))
    work_until((directory / STOP).exists, evaluator.step, parent)


if __name__ == "__main__":
    main()
