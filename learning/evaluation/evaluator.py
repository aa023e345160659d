"""The evaluator: a process on the host that evaluates models off the run's clock.

python -m learning.evaluation.evaluator --run RUN --spool SPOOL takes the models in the spool's
evaluate directory, oldest first, and appends one line for each to RUN/evaluations.jsonl. If a round
has models from several edge servers, it adds a line for their average; at the rounds chosen by the
scenario, it adds a line for the dissimilarity of gradients at the global model.

A model is removed only once all its lines are written. So an evaluator that died is followed by
another one, which goes on with the model that it was at.
"""

import math
import os
from collections.abc import Callable, Collection
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contracts.evaluations import AVERAGE, DISSIMILARITY, GLOBAL
from contracts.messages import EVALUATED_KEY, EVALUATED_OF, EVALUATED_ROUND
from contracts.run_directory import RunDirectory
from contracts.spool import DONE, REMEMBERED, ROUNDS_BEHIND, Spool, write_verdict
from contracts.storage import about
from learning.evaluation.figures import Dissimilarity, Scores
from learning.evaluation.round_averages import RoundAverages
from learning.evaluation.written_lines import Line, WrittenLines
from learning.remembering.memory import Figures, Memory
from learning.training.run_data import learning_settings
from learning.workers.host_process import ParentProcess, argument_parser, run_until_stopped
from protocols.base import Tensors
from protocols.wire import Refused, read_file

if TYPE_CHECKING:
    from learning.training.context import TrainingContext

Found = TypeVar("Found")


class Evaluator:
    """Evaluates the models in a spool and writes their accuracy and loss.

    With a memory, it takes from there what was evaluated before; `context` loads what evaluation
    needs on the first call. With a target, it says of every round whether that was reached.
    """

    def __init__(
        self,
        spool: Spool,
        lines: Path,
        context: Callable[[], "TrainingContext"],
        averages: RoundAverages | None = None,
        dissimilarity_every: int | None = None,
        memory: Memory | None = None,
        target: float | None = None,
        weights: Collection[str] | None = None,
        overflow: Path | None = None,
    ) -> None:
        self._spool, self._overflow = spool, overflow
        self._lines = WrittenLines(lines)
        self._context, self._memory, self._target = context, memory, target
        self._weights = weights  # the names of the model's own tensors; None: all are
        self._averages = averages or RoundAverages()
        self._every = dissimilarity_every
        self._kept: dict[int, list[Path]] = {}  # by round, models whose average lacks others
        for path in spool.models_kept():
            path.rename(spool.taken_back(path))  # whoever averaged them has died

    def step(self) -> bool:
        """Evaluate the oldest model; return whether there was one."""
        for path in self._spool.models_to_evaluate(self._overflow)[:1]:
            self._evaluate(path)
            return True
        return False

    def _evaluate(self, path: Path) -> None:
        """Write the model's line, then those for the average and the dissimilarity, if due."""
        try:
            message = read_file(path)
            round, key = message.meta[EVALUATED_ROUND], message.meta[EVALUATED_KEY]
            of = message.meta.get(EVALUATED_OF)
        except (Refused, KeyError, ValueError) as error:
            reason = _reason(error)
            self._lines.once(None, path.stem, lambda: _failed(None, path.stem, reason))
            if self._target is not None:
                # The cloud waits for a verdict. On a refusal the round is known from the name only.
                write_verdict(self._spool, self._spool.round_of(path), reached=False)
            path.unlink()
            return
        tensors = {
            name: tensor
            for name, tensor in message.tensors.items()
            if self._weights is None or name in self._weights
        }
        line = self._line(round, key, tensors)
        if self._target is not None and key == GLOBAL:
            reached = (line["accuracy"] or 0.0) >= self._target
            write_verdict(self._spool, round, reached)
        good = "error" not in line
        if good and of is not None and of >= 2:
            self._average(round, key, of, tensors)
        if good and self._every and key == GLOBAL and round % self._every == 0:
            self._lines.once(round, DISSIMILARITY, lambda: self._dissimilarity(round, tensors))
        if good and of is not None and self._averages.lacks_others(round):
            self._keep(round, path, of)
        else:
            path.unlink()

    def _keep(self, round: int, path: Path, of: int) -> None:
        """Keep a model until its average is written, should this process die; within a bound."""
        kept = self._spool.kept(path)
        path.rename(kept)
        self._kept.setdefault(round, []).append(kept)
        if sum(map(len, self._kept.values())) > ROUNDS_BEHIND * of:
            self._let_go(next(iter(self._kept)))

    def _let_go(self, round: int) -> None:
        for path in self._kept.pop(round, []):
            path.unlink()

    def _dissimilarity(self, round: int, tensors: Tensors) -> Line:
        known = self._memory.dissimilarity(tensors, Dissimilarity) if self._memory else None
        found = self._remembered(known, lambda: _measured(tensors, self._context()))
        return {
            "round": round,
            "key": DISSIMILARITY,
            "xi_squared": _finite(found.xi_squared),
            "g_squared": _finite(found.g_squared),
        }

    def _average(self, round: int, key: str, of: int, tensors: Tensors) -> None:
        mean = self._averages.add(round, key, of, tensors)
        if mean is not None:
            self._line(round, AVERAGE, mean)
            self._let_go(round)
        late = "not all models of this round came before there was no room to wait for them"
        for other in self._averages.drop_oldest():
            self._lines.once(other, AVERAGE, partial(_failed, other, AVERAGE, late))
            self._let_go(other)

    def _line(self, round: int, key: str, tensors: Tensors) -> Line:
        """Write the line of one model."""
        return self._lines.once(round, key, lambda: self._scores(round, key, tensors))

    def _scores(self, round: int, key: str, tensors: Tensors) -> Line:
        """Evaluate one model; if that fails, the line says why, and evaluation goes on."""
        known = self._memory.evaluation(tensors, Scores) if self._memory else None
        try:
            scores = self._remembered(known, lambda: _scored(tensors, self._context()))
        except (KeyError, ValueError, RuntimeError) as error:
            return _failed(round, key, _reason(error))
        return {
            "round": round,
            "key": key,
            "accuracy": scores.accuracy,
            "loss": _finite(scores.loss),
            "by_class": scores.by_class,
        }

    def _remembered(self, known: Figures[Found] | None, compute: Callable[[], Found]) -> Found:
        """Return what is known already, or compute it and keep it; count which it was."""
        found = known.known if known is not None else None
        how = DONE if found is None else REMEMBERED
        if found is None:
            found = compute()
            if known is not None:
                known.keep(found)
        stats = self._spool.evaluator_stats
        with about(stats), stats.open("a") as file:
            file.write(f"{how}\n")
        return found


def _scored(tensors: Tensors, context: "TrainingContext") -> Scores:
    from learning.evaluation.scores import evaluate  # only now, as it takes torch with it

    return evaluate(tensors, context)


def _measured(tensors: Tensors, context: "TrainingContext") -> Dissimilarity:
    from learning.evaluation.dissimilarity import measure_dissimilarity

    return measure_dissimilarity(tensors, context)


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
    spool = Spool(arguments.spool)
    files, settings = RunDirectory(arguments.run), learning_settings(arguments.run)
    memory = Memory.of_run(arguments.run, spool)

    @cache
    def context() -> "TrainingContext":
        from learning.training.context import TrainingContext

        return TrainingContext.load(arguments.run)

    if memory is None or not memory.has_begun(arguments.run):
        context()
    evaluator = Evaluator(
        spool,
        files.evaluations,
        context,
        dissimilarity_every=settings.get("dissimilarity_every"),
        memory=memory,
        target=settings.get("stop_at"),
        weights=set(read_file(files.initial_model).tensors),
        overflow=files.waiting_models,
    )
    run_until_stopped(spool.stop_evaluator.exists, evaluator.step, parent)


if __name__ == "__main__":
    main()
