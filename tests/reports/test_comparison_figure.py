"""comparison.png: a curve for each group, a panel for each section."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib import colors, image

from reports.comparison.groups import compare_runs
from reports.comparison.runs import read_runs
from reports.figures.comparison import draw_comparison, mean_curve
from tests.support.compared_runs import scenario, write_run

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"


def _draw(place: Path, over_rounds: bool = False) -> np.ndarray:
    path = place / "comparison.png"
    draw_comparison(path, compare_runs(*read_runs([str(place)])), over_rounds)
    return image.imread(path)[:, :, :3]


def _pixels(picture: np.ndarray, colour: str) -> int:
    return int((np.abs(picture - colors.to_rgb(colour)).max(axis=2) < 0.02).sum())


@pytest.mark.parametrize("over_rounds", [False, True])
def test_every_group_is_drawn(tmp_path: Path, over_rounds: bool) -> None:
    for seed in (1, 2):
        for variant in ("a", "b $x_ long " * 9):
            tree = scenario(variant=variant, seed=seed)
            write_run(tmp_path / f"{variant[0]}{seed}", tree, (0.1, 0.5 + seed / 10, 0.9))

    picture = _draw(tmp_path, over_rounds)

    assert _pixels(picture, BLUE) > 1000
    assert _pixels(picture, ORANGE) > 1000
    assert _pixels(picture, GREEN) == 0


def test_a_label_has_one_colour_in_all_panels(tmp_path: Path) -> None:
    for name in "pqrst":
        for variant in ("x", "y"):
            write_run(tmp_path / name / variant, scenario(name, variant=variant))

    picture = _draw(tmp_path)

    assert picture.shape[1] == round(3 * 4.6 * 150)
    assert _pixels(picture, GREEN) == 0


def test_nothing_is_cut_off_at_the_edges(tmp_path: Path) -> None:
    for number in range(9):
        tree = scenario(variant=f"a rather long label of a method {number}")
        write_run(tmp_path / f"{number}", tree)

    picture = _draw(tmp_path)

    for edge in (picture[:, :5], picture[:, -5:], picture[:5], picture[-5:]):
        assert edge.min() == 1.0


def test_runs_that_never_were_evaluated_still_give_a_picture(tmp_path: Path) -> None:
    write_run(tmp_path / "run", accuracies=(None, None))

    assert _draw(tmp_path).shape[1] == 9 * 150


def test_the_mean_curve_goes_as_far_as_all_seeds(tmp_path: Path) -> None:
    write_run(tmp_path / "1", scenario(seed=1), (0.1, 0.5, 0.6, 0.7), round_seconds=100)
    write_run(tmp_path / "2", scenario(seed=2), (0.3, None, 0.8), round_seconds=300)
    runs, _ = read_runs([str(tmp_path)])

    curve = mean_curve(runs)

    assert [(point.round, point.seconds) for point in curve] == [(0, 0.0), (2, 400.0)]
    assert [point.accuracy for point in curve] == pytest.approx([0.2, 0.7])
