"""Lines of evaluations.jsonl: one per model, and one for the average of a round's edge models."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.spool import Spool, read_verdict
from learning.data import datasets
from learning.evaluation.evaluator import Evaluator
from learning.evaluation.round_averages import RoundAverages
from learning.evaluation.scores import evaluate
from learning.models import registry as models
from learning.training.context import TrainingContext
from protocols.base import Tensors
from protocols.wire import Message, write_file

SOME = datasets.load("tiny", None, classes=9)
SUM_BYTES = 8 * (784 * 16 + 16 + 16 * 9 + 9)


def _model(seed: int) -> Tensors:
    return models.export_weights(models.build("tiny-mlp", SOME.shape, 9, seed=seed))


def _context() -> TrainingContext:
    return TrainingContext(SOME, [np.arange(4)], models.build("tiny-mlp", (1, 28, 28), 9, seed=0))


class Evaluated:
    """An evaluator with a directory of its own, fed in the order of `hand_over`."""

    def __init__(self, directory: Path, averages: RoundAverages | None = None) -> None:
        self._spool, self._lines = Spool(directory), directory / "evaluations.jsonl"
        self._spool.create()
        self._evaluator = Evaluator(
            self._spool, self._lines, _context, averages, weights=set(_model(0))
        )
        self._handed_over = 0

    def hand_over(self, round: int, key: str, tensors: Tensors, **meta: Any) -> None:
        self._handed_over += 1
        path = self._spool.model_to_evaluate(str(self._handed_over))
        meta |= {"round": round, "key": key}
        write_file(path, Message("evaluate", key, round, meta, tensors))
        os.utime(path, ns=(0, self._handed_over))

    def lines(self) -> list[dict[str, Any]]:
        while self._evaluator.step():
            pass
        return [json.loads(line) for line in self._lines.read_text().splitlines()]


def _names(lines: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(line["round"], line["key"]) for line in lines]


def test_a_line_has_all_scores_of_its_model(tmp_path: Path) -> None:
    evaluated = Evaluated(tmp_path)
    evaluated.hand_over(3, "global", _model(1))
    scores = evaluate(_model(1), _context())
    assert evaluated.lines() == [
        {
            "round": 3,
            "key": "global",
            "accuracy": scores.accuracy,
            "loss": scores.loss,
            "by_class": scores.by_class,
        }
    ]
    assert len(scores.by_class) == 9


def test_the_last_edge_model_of_a_round_brings_the_average(tmp_path: Path) -> None:
    evaluated = Evaluated(tmp_path)
    for number, (round, edge) in enumerate([(1, 2), (1, 1), (2, 1), (1, 3), (2, 3), (2, 2)]):
        evaluated.hand_over(round, f"edge{edge}", _model(number), of=3)
    lines = evaluated.lines()
    first = [(1, "edge2"), (1, "edge1"), (2, "edge1"), (1, "edge3"), (1, "average")]
    assert _names(lines) == [*first, (2, "edge3"), (2, "edge2"), (2, "average")]
    for line, numbers in ((lines[4], (0, 1, 3)), (lines[7], (2, 4, 5))):
        parts = [_model(number) for number in numbers]
        mean = {
            name: np.mean([part[name] for part in parts], axis=0, dtype=np.float64).astype("f4")
            for name in parts[0]
        }
        scores = evaluate(mean, _context())
        assert (line["accuracy"], line["by_class"]) == (scores.accuracy, scores.by_class)
        assert line["loss"] == pytest.approx(scores.loss)


def test_a_model_that_cannot_be_evaluated_is_in_no_average(tmp_path: Path) -> None:
    evaluated = Evaluated(tmp_path)
    wrong = _model(1) | {"3.bias": np.zeros(10, np.float32)}
    evaluated.hand_over(1, "edge1", wrong, of=2)
    evaluated.hand_over(1, "edge2", _model(2), of=2)
    evaluated.hand_over(2, "edge1", {"1.bias": np.zeros(16, np.float32)}, of=1)
    wrong, good, partial = evaluated.lines()
    assert wrong["by_class"] is None and "ValueError: 3.bias has shape" in wrong["error"]
    assert (good["key"], "error" in good) == ("edge2", False)
    assert (partial["round"], partial["key"], partial["accuracy"]) == (2, "edge1", None)


def test_extras_beside_the_weights_do_not_matter_to_the_average(tmp_path: Path) -> None:
    evaluated = Evaluated(tmp_path)
    evaluated.hand_over(1, "edge1", _model(1) | {"rule/c": np.zeros(3, np.float32)}, of=2)
    evaluated.hand_over(1, "edge2", _model(1) | {"rule/c": np.zeros(4, np.float32)}, of=2)
    one, other, average = evaluated.lines()
    assert one["by_class"] == other["by_class"] == average["by_class"]
    assert average["key"] == "average"


def test_rounds_that_stay_incomplete_are_given_up_and_said_so(tmp_path: Path) -> None:
    evaluated = Evaluated(tmp_path, RoundAverages(max_bytes=2 * SUM_BYTES))
    for round in (1, 2, 3):
        evaluated.hand_over(round, "edge1", _model(1), of=2)
    evaluated.hand_over(1, "edge2", _model(2), of=2)
    evaluated.hand_over(2, "edge2", _model(2), of=2)
    lines = evaluated.lines()
    edge1 = [(1, "edge1"), (2, "edge1"), (3, "edge1")]
    assert _names(lines) == [*edge1, (1, "average"), (1, "edge2"), (2, "edge2"), (2, "average")]
    assert lines[3]["accuracy"] is None and "no room" in lines[3]["error"]
    assert lines[6]["accuracy"] is not None


def test_the_average_of_a_round_is_plain_and_each_edge_counts_once() -> None:
    averages = RoundAverages()
    small, large = ({"w": np.array([x], np.float32)} for x in (1.0, 4.0))
    assert averages.add(1, "edge1", 2, small) is None
    assert averages.add(1, "edge1", 2, small) is None
    mean = averages.add(1, "edge2", 2, large)
    assert mean is not None and mean["w"].dtype == np.float32
    np.testing.assert_array_equal(mean["w"], [2.5])
    assert averages.add(1, "edge2", 2, large) is None, "a round is averaged once"
    assert averages.drop_oldest() == []


def test_the_order_in_which_edges_come_does_not_change_the_average() -> None:
    parts = [_model(seed) for seed in range(3)]
    means = []
    for order in ((0, 1, 2), (2, 0, 1)):
        averages = RoundAverages()
        means.append([averages.add(1, f"edge{i}", 3, parts[i]) for i in order][-1])
    one, other = means
    assert one is not None and other is not None
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_a_model_that_cannot_be_read_gets_a_verdict_too(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.create()
    evaluator = Evaluator(spool, tmp_path / "lines", _context, target=0.5)
    broken = {name: np.full_like(array, np.inf) for name, array in _model(1).items()}
    path = spool.model_to_evaluate("round-00007")
    write_file(path, Message("evaluate", "cloud", 7, {"round": 7, "key": "global"}, broken))

    assert evaluator.step()

    assert read_verdict(spool, 7) is False
