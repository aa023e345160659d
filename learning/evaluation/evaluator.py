"""The evaluator: a process on the host that evaluates models off the run's clock.

python -m learning.evaluation.evaluator --run RUN --spool SPOOL takes the models in the spool's
evaluate directory, oldest first, and appends one line for each to RUN/evaluations.jsonl. If a round
has models from several edge servers, it adds a line for their average; at the rounds chosen by the
scenario, it adds a line for the dissimilarity of gradients at the global model.
"""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from contracts.evaluations import AVERAGE, DISSIMILARITY, GLOBAL
from contracts.messages import EVALUATED_KEY, EVALUATED_OF, EVALUATED_ROUND
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from learning.evaluation.dissimilarity import measure_dissimilarity
from learning.evaluation.round_averages import RoundAverages
from learning.evaluation.scores import evaluate
from learning.models.registry import named_weights
from learning.training.context import TrainingContext
from learning.workers.host_process import ParentProcess, argument_parser, run_until_stopped
from protocols.base import Tensors
from protocols.wire import Refused, read_file

Line = dict[str, Any]


class Evaluator:
    """Evaluates the models in a spool and writes their accuracy and loss."""

    def __init__(
        self,
        spool: Spool,
        lines: Path,
        context: TrainingContext,
        averages: RoundAverages | None = None,
        dissimilarity_every: int | None = None,
    ) -> None:
        self._spool = spool
        self._lines = lines
        self._context = context
        self._averages = averages or RoundAverages()
        self._every = dissimilarity_every

    def step(self) -> bool:
        """Evaluate the oldest model; return whether there was one."""
        for path in self._spool.models_to_evaluate()[:1]:
            for line in self._evaluated(path):
                text = json.dumps(line, allow_nan=False)
                with self._lines.open("a", encoding="utf-8") as file:
                    file.write(f"{text}\n")
            path.unlink()
            return True
        return False

    def _evaluated(self, path: Path) -> Iterator[Line]:
        """Yield the model's line, then those for the average and the dissimilarity, if due."""
        try:
            message = read_file(path)
            round, key = message.meta[EVALUATED_ROUND], message.meta[EVALUATED_KEY]
            of = message.meta.get(EVALUATED_OF)
        except (Refused, KeyError, ValueError) as error:
            yield _failed(None, path.stem, _reason(error))
            return
        line = self._line(round, key, message.tensors)
        yield line
        if "error" in line:
            return
        if of is not None and of >= 2:
            yield from self._averaged(round, key, of, message.tensors)
        if self._every and key == GLOBAL and round % self._every == 0:
            yield self._dissimilarity(round, message.tensors)

    def _dissimilarity(self, round: int, tensors: Tensors) -> Line:
        found = measure_dissimilarity(tensors, self._context)
        return {
            "round": round,
            "key": DISSIMILARITY,
            "xi_squared": _finite(found.xi_squared),
            "g_squared": _finite(found.g_squared),
        }

    def _averaged(self, round: int, key: str, of: int, tensors: Tensors) -> list[Line]:
        known = {name: tensors[name] for name, _ in named_weights(self._context.module)}
        mean = self._averages.add(round, key, of, known)
        lines = [] if mean is None else [self._line(round, AVERAGE, mean)]
        late = "not all models of this round came before there was no room to wait for them"
        return lines + [_failed(other, AVERAGE, late) for other in self._averages.drop_oldest()]

    def _line(self, round: int, key: str, tensors: Tensors) -> Line:
        """Evaluate one model; if that fails, the line says why, and evaluation goes on."""
        try:
            scores = evaluate(tensors, self._context)
        except (KeyError, ValueError, RuntimeError) as error:
            return _failed(round, key, _reason(error))
        return {
            "round": round,
            "key": key,
            "accuracy": scores.accuracy,
            "loss": _finite(scores.loss),
            "by_class": scores.by_class,
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _failed(round: int | None, key: str, reason: str) -> Line:
    scores = {"accuracy": None, "loss": None, "by_class": None}
    return {"round": round, "key": key, **scores, "error": reason}


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def main() -> None:
    """Evaluate until the stop file exists and no model is left, or the parent has gone."""
    arguments = argument_parser("Evaluate the models of a spool.", nice=19).parse_args()
    parent = ParentProcess(arguments.parent)
    os.nice(arguments.nice)
    torch.set_num_threads(1)
    spool = Spool(arguments.spool)
    files = RunDirectory(arguments.run)
    settings = json.loads(files.learning.read_text())
    every = settings.get("dissimilarity_every")
    evaluator = Evaluator(
        spool, files.evaluations, TrainingContext.load(arguments.run), dissimilarity_every=every
    )
    run_until_stopped(spool.stop_evaluator.exists, evaluator.step, parent)


if __name__ == "__main__":
    main()
