"""An evaluator that died is followed by another one, which goes on where the first one was."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.spool import ROUNDS_BEHIND, Spool, read_verdict
from learning.evaluation import evaluator as evaluating
from learning.evaluation.evaluator import Evaluator
from learning.evaluation.figures import Scores
from protocols.wire import Message, write_file

WEIGHTS = ["w"]


class Died(BaseException):
    """Stands for what ends a process in the middle of its work."""


@pytest.fixture(autouse=True)
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Scoring a model takes its only weight for the accuracy; the list tells what was scored."""
    scored: list[float] = []

    def scores(tensors: dict[str, np.ndarray], _context: Any) -> Scores:
        scored.append(float(tensors["w"][0]))
        return Scores(accuracy=scored[-1], loss=0.0, by_class=[])

    monkeypatch.setattr(evaluating, "_scored", scores)
    return scored


def hand_over(spool: Spool, round: int, key: str, value: float, of: int = 1) -> Path:
    path = spool.model_to_evaluate(f"round-{round:05d}-{key}")
    meta = {"round": round, "key": key, "of": of}
    tensors = {"w": np.array([value], np.float32)}
    write_file(path, Message("evaluate", "cloud", round, meta, tensors))
    os.utime(path, ns=(0, round * 100 + int(value * 10)))
    return path


def started(tmp_path: Path, **more: Any) -> tuple[Evaluator, Spool, Path]:
    spool, lines = Spool(tmp_path / "spool"), tmp_path / "evaluations.jsonl"
    spool.create()
    made = Evaluator(spool, lines, lambda: None, weights=WEIGHTS, **more)  # type: ignore[arg-type,return-value]
    return made, spool, lines


def names(lines: Path) -> list[tuple[int, str]]:
    found = map(json.loads, lines.read_text().splitlines())
    return [(line["round"], line["key"]) for line in found]


def work(evaluator: Evaluator) -> None:
    while evaluator.step():
        pass


def test_a_model_whose_line_is_there_is_neither_evaluated_nor_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluated: list[float]
) -> None:
    first, spool, lines = started(tmp_path, target=0.5)
    path = hand_over(spool, 1, "global", 0.75)
    hand_over(spool, 2, "global", 0.25)

    def die(*_: Any, **__: Any) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(evaluating, "write_verdict", die)
        with pytest.raises(Died):
            first.step()
    assert path.exists() and read_verdict(spool, 1) is None

    work(started(tmp_path, target=0.5)[0])

    assert names(lines) == [(1, "global"), (2, "global")]
    assert evaluated == [0.75, 0.25]
    assert (read_verdict(spool, 1), read_verdict(spool, 2)) == (True, False)
    assert spool.models_to_evaluate() == []


def test_a_torn_line_is_cut_off_and_written_whole(tmp_path: Path) -> None:
    (tmp_path / "evaluations.jsonl").write_text('{"round": 0, "key": "global"}\n{"round": 1, "k')
    evaluator, spool, lines = started(tmp_path)
    hand_over(spool, 1, "global", 0.5)

    work(evaluator)

    assert names(lines) == [(0, "global"), (1, "global")]


def test_the_average_of_a_round_survives_the_death_between_its_models(
    tmp_path: Path, evaluated: list[float]
) -> None:
    first, spool, lines = started(tmp_path)
    hand_over(spool, 3, "edge1", 0.0, of=2)
    work(first)
    assert spool.models_to_evaluate() == [] and len(spool.models_kept()) == 1

    hand_over(spool, 3, "edge2", 1.0, of=2)
    work(started(tmp_path)[0])

    assert names(lines) == [(3, "edge1"), (3, "edge2"), (3, "average")]
    assert evaluated == [0.0, 1.0, 0.5]
    assert spool.models_kept() == []


def test_models_kept_for_averages_do_not_pile_up(tmp_path: Path) -> None:
    evaluator, spool, lines = started(tmp_path)
    rounds = 3 * ROUNDS_BEHIND
    for round in range(1, rounds + 1):
        hand_over(spool, round, "edge1", 0.0, of=2)
        work(evaluator)

    assert len(spool.models_kept()) <= 2 * ROUNDS_BEHIND
    hand_over(spool, 1, "edge2", 1.0, of=2)
    work(evaluator)
    assert names(lines)[-1] == (1, "average"), "the average itself is not forgotten"


def test_models_that_had_no_room_in_the_spool_have_their_turn(tmp_path: Path) -> None:
    overflow = tmp_path / "waiting-models"
    evaluator, spool, lines = started(tmp_path, overflow=overflow)
    hand_over(spool, 3, "global", 0.5)
    overflow.mkdir()
    early = hand_over(spool, 1, "global", 0.5)
    early.rename(overflow / early.name)

    work(evaluator)

    assert names(lines) == [(1, "global"), (3, "global")]
    assert list(overflow.iterdir()) == []
