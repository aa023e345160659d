"""cells.png: a curve for every rho, and how the models ended."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import colors, image

from reports.finish import finish
from tests.reports.test_summary import FACTS
from tests.support.fake_cells import EDGES, KEYS, MAIN, line, write_run

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
FACTS_OF_CELLS = dataclasses.replace(FACTS, name="cells", protocol="multicell")


@pytest.fixture(autouse=True)
def _only_this_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.finish.draw_accuracy", lambda *_: None)


def _pixels(path: Path, colour: str) -> int:
    picture = image.imread(path)[:, :, :3]
    return int((np.abs(picture - colors.to_rgb(colour)).max(axis=2) < 0.02).sum())


def _lines(rounds: int, keys: tuple[str, ...] = KEYS) -> list[dict[str, Any]]:
    """An edge's own classes are learned faster and better than the others."""
    found = []
    for number in range(rounds + 1):
        for place, key in enumerate(keys):
            main = MAIN.get(key, range(6) if key == "global" else ())
            learned = 1 - math.exp(-number / (3 + place))
            by_class: list[float | None] = [
                0.17 + (0.7 if c in main else 0.35) * learned for c in range(6)
            ]
            found.append(line(number, key, by_class))
    return found


@pytest.mark.parametrize("rounds", [1, 12, 200])
def test_every_rho_and_both_kinds_of_models_are_drawn(tmp_path: Path, rounds: int) -> None:
    write_run(tmp_path, _lines(rounds), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], rounds)

    finish(tmp_path, FACTS_OF_CELLS)

    path = tmp_path / "cells.png"
    assert image.imread(path).shape[:2] == (750, 1650)
    assert all(_pixels(path, colour) > 300 for colour in (BLUE, ORANGE, GREEN))


def test_with_a_cloud_there_is_no_averaged_model(tmp_path: Path) -> None:
    write_run(tmp_path, _lines(12, ("global",)), [0.6, 1.0], 12, cloud=True)

    finish(tmp_path, FACTS_OF_CELLS)

    # nor a second curve over time: the global model is as good at one rho as at the other
    assert _pixels(tmp_path / "cells.png", BLUE) > 300
    assert _pixels(tmp_path / "cells.png", ORANGE) == 0


def test_without_the_averages_only_the_edges_are_drawn(tmp_path: Path) -> None:
    write_run(tmp_path, _lines(12, tuple(EDGES)), [0.6], 12)

    finish(tmp_path, FACTS_OF_CELLS)

    assert _pixels(tmp_path / "cells.png", ORANGE) == 0


def test_a_run_without_evaluations_has_a_picture_without_curves(tmp_path: Path) -> None:
    write_run(tmp_path, [], [0.6, 1.0])

    finish(tmp_path, dataclasses.replace(FACTS_OF_CELLS, name="odd $name_"))

    assert _pixels(tmp_path / "cells.png", BLUE) == 0
