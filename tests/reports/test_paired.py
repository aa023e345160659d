"""Comparisons paired by seed, with numbers worked out by hand."""

import csv
import io
import math
from pathlib import Path

import pytest

from reports.comparison.csv_table import comparison_csv
from reports.comparison.groups import Comparison, compare_runs
from reports.comparison.metrics import TIME
from reports.comparison.paired import paired_notes, paired_ratio
from reports.comparison.runs import read_runs
from tests.support.compared_runs import scenario, write_run


def _compared(place: Path, **seconds: dict[int, float]) -> Comparison:
    """Compare two variants, given the seconds of a round by seed; 80 % comes in the third."""
    for variant, by_seed in seconds.items():
        for seed, value in by_seed.items():
            tree = scenario(variant=variant, seed=seed)
            write_run(place / f"{variant}{seed}", tree, round_seconds=value)
    return compare_runs(*read_runs([str(place)]), baseline="base")


def test_ratios_are_taken_seed_by_seed_and_averaged_as_factors(tmp_path: Path) -> None:
    (section,) = _compared(tmp_path, base={1: 100, 2: 400}, other={1: 50, 2: 50}).sections
    base, other = section.groups

    found = paired_ratio(base, other, TIME)

    # 2 and 8: the geometric mean is 4. Their logarithms deviate by ln 4 / sqrt 2 from each other's
    # mean, so the interval is 12.706 * ln 4 / sqrt 2 / sqrt 2 = 12.706 * ln 2 on each side.
    assert found is not None and found.interval is not None
    assert found.mean == pytest.approx(4)
    assert found.interval[1] == pytest.approx(4 * math.exp(12.706 * math.log(2)))
    assert (found.pairs, found.better, found.lacking) == (2, 2, 0)


def test_equal_ratios_leave_no_doubt(tmp_path: Path) -> None:
    seconds = {1: 100.0, 2: 200.0, 3: 300.0}
    (section,) = _compared(
        tmp_path, base=seconds, other={s: v / 2 for s, v in seconds.items()}
    ).sections

    assert list(paired_notes(section)) == [
        "paired by seed, other against base: time 2.00 x (95 %: 2.00 to 2.00), "
        "rounds 1.00 x (95 %: 1.00 to 1.00); faster in 3 of 3"
    ]


def test_seeds_that_only_one_has_are_left_out_and_unreached_targets_are_counted(
    tmp_path: Path,
) -> None:
    write_run(tmp_path / "low", scenario(variant="other", seed=2), (0.1, 0.2))
    (section,) = _compared(tmp_path, base={1: 100, 2: 100}, other={1: 80, 7: 1}).sections

    (note,) = paired_notes(section)

    assert note == (
        "paired by seed, other against base: time 1.25 x, rounds 1.00 x; faster in 1 of 1; "
        "1 more without a time"
    )


def test_one_seed_is_no_comparison_of_pairs(tmp_path: Path) -> None:
    (section,) = _compared(tmp_path, base={1: 100}, other={1: 80}).sections

    assert not list(paired_notes(section))


def test_the_csv_has_the_paired_speed_up(tmp_path: Path) -> None:
    compared = _compared(tmp_path, base={1: 100, 2: 400}, other={1: 50, 2: 50})

    base, other = csv.DictReader(io.StringIO(comparison_csv(compared)))

    assert (other["paired_speed_up"], other["paired_speed_up_pairs"]) == ("4.0", "2")
    assert base["paired_speed_up"] == ""
