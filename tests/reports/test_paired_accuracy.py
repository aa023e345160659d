"""Differences of accuracy by seed, with numbers worked out by hand."""

from pathlib import Path
from typing import Any

import pytest

from reports.comparison.groups import Section, compare_runs
from reports.comparison.metrics import FINAL
from reports.comparison.paired_accuracy import paired_accuracy_notes, paired_difference
from reports.comparison.runs import read_runs
from tests.support.compared_runs import scenario, write_run


def _compared(place: Path, settings: dict[str, Any] | None = None, **final: list[float]) -> Section:
    """Compare variants, given their accuracies after the last round for the seeds 1, 2, ..."""
    for variant, values in final.items():
        for seed, value in enumerate(values, 1):
            tree = scenario(variant=variant, seed=seed) | (settings or {})
            write_run(place / f"{variant}{seed}", tree, (0.1, value))
    (section,) = compare_runs(*read_runs([str(place)]), baseline="base").sections
    return section


def test_differences_are_taken_seed_by_seed(tmp_path: Path) -> None:
    base, other = _compared(tmp_path, base=[0.5, 0.6], other=[0.53, 0.61]).groups

    found = paired_difference(base, other, FINAL)

    # .03 and .01: their mean is .02, and they deviate by .02 / sqrt 2, so that the interval is
    # 12.706 * .02 / sqrt 2 / sqrt 2 = .12706 on each side.
    assert found is not None and found.interval is not None
    assert found.mean == pytest.approx(0.02)
    assert found.interval == pytest.approx((-0.10706, 0.14706))
    assert (found.pairs, found.better) == (2, 2)


def test_a_baseline_that_never_reached_the_target_is_one(tmp_path: Path) -> None:
    section = _compared(tmp_path, base=[0.5, 0.5], other=[0.52, 0.52])

    assert list(paired_accuracy_notes(section)) == [
        "points by seed, other against base: final +2.0 (95 %: +2.0 to +2.0), "
        "best +2.0 (95 %: +2.0 to +2.0), last 20 +2.0 (95 %: +2.0 to +2.0); "
        "better at the end in 2 of 2"
    ]


def test_one_seed_is_no_comparison_of_pairs(tmp_path: Path) -> None:
    assert not list(paired_accuracy_notes(_compared(tmp_path, base=[0.5], other=[0.52])))


def test_runs_that_ended_at_their_target_are_not_compared_by_accuracy(tmp_path: Path) -> None:
    section = _compared(tmp_path, {"stop": "target"}, base=[0.8, 0.8], other=[0.9, 0.9])

    assert not list(paired_accuracy_notes(section))
