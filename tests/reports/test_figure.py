"""accuracy.png: always a picture, and it marks what it says."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colors, image

from reports.finish import finish
from tests.reports.test_summary import FACTS
from tests.support.fake_run import FakeRun

CURVE, TARGET = "#0072B2", "#D55E00"


def _pixels(path: Path, colour: str) -> int:
    picture = image.imread(path)[:, :, :3]
    return int((np.abs(picture - colors.to_rgb(colour)).max(axis=2) < 0.02).sum())


@pytest.mark.parametrize("rounds", [1, 12, 200])
def test_the_curve_and_the_target_are_drawn(tmp_path: Path, rounds: int) -> None:
    FakeRun(tmp_path, rounds=rounds)

    finish(tmp_path, FACTS)

    picture = image.imread(tmp_path / "accuracy.png")
    assert picture.shape[:2] == (750, 1650)
    assert _pixels(tmp_path / "accuracy.png", CURVE) > 500
    assert _pixels(tmp_path / "accuracy.png", TARGET) > 500


def test_reaching_the_target_is_marked(tmp_path: Path) -> None:
    FakeRun(tmp_path / "reached")
    FakeRun(tmp_path / "missed")

    finish(tmp_path / "reached", FACTS)
    finish(tmp_path / "missed", dataclasses.replace(FACTS, target_accuracy=0.9))

    reached = _pixels(tmp_path / "reached" / "accuracy.png", TARGET)
    assert reached > _pixels(tmp_path / "missed" / "accuracy.png", TARGET) + 200


def test_without_a_target_there_is_no_target_line(tmp_path: Path) -> None:
    FakeRun(tmp_path)

    finish(tmp_path, dataclasses.replace(FACTS, target_accuracy=None))

    assert _pixels(tmp_path / "accuracy.png", TARGET) == 0


def test_a_run_without_evaluations_has_a_picture_without_a_curve(tmp_path: Path) -> None:
    finish(tmp_path, dataclasses.replace(FACTS, name="odd $name_", failure="failed early"))

    assert _pixels(tmp_path / "accuracy.png", CURVE) == 0
