"""Rise time and its like, against numbers worked out by hand."""

import json
from pathlib import Path

import pytest

from reports.comparison.rise_time import RiseTimes, rise_times
from reports.records.rounds import RoundRow
from reports.records.run_records import RunRecords
from reports.records.summary import RunFacts, summarise


def _of(*accuracies: float | None, seconds: float = 2.0) -> RiseTimes:
    """Of rounds 1, 2, ... after an initial model that is right in a tenth."""
    points = enumerate((0.1, *accuracies))
    return rise_times((round, seconds * round, accuracy) for round, accuracy in points)


def test_a_short_run_is_averaged_over_the_rounds_it_has() -> None:
    # Rolling means: .2, .3, .4, .5; nine tenths of the last are .45.
    found = _of(0.2, 0.4, 0.6, 0.8)
    assert found.rolling_accuracy == pytest.approx(0.5)
    assert (found.rise_rounds, found.rise_seconds) == (4, 8.0)
    assert (found.half_rounds, found.half_seconds) == (4, 8.0)


def test_the_window_is_twenty_rounds() -> None:
    # 20 rounds of 0, then 30 of .8: the mean of round 20 + k is .8 k / 20 up to k = 20, so that it
    # reaches .72 at k = 18 and .5 at k = 13 (.52, after .48).
    found = _of(*[0.0] * 20, *[0.8] * 30)
    assert found.rolling_accuracy == pytest.approx(0.8)
    assert (found.rise_rounds, found.rise_seconds) == (38, 76.0)
    assert (found.half_rounds, found.half_seconds) == (33, 66.0)


def test_a_level_run_has_risen_in_its_first_round() -> None:
    assert _of(*[0.7] * 25) == RiseTimes(pytest.approx(0.7), 1, 2.0, 1, 2.0)  # type: ignore[arg-type]


def test_a_run_that_falls_is_held_against_its_end() -> None:
    # The last mean is (.9 + .1) / 2 = .5, and the first round was above nine tenths of it.
    assert _of(0.9, 0.1) == RiseTimes(0.5, 1, 2.0, 1, 2.0)


def test_one_half_may_not_be_reached() -> None:
    found = _of(0.2, 0.6)  # means .2 and .4
    assert (found.rise_rounds, found.half_rounds, found.half_seconds) == (2, None, None)


def test_rounds_without_an_accuracy_have_no_part() -> None:
    # Of round 21's window only rounds 2 to 21 count: round 1 is out, and most were not evaluated.
    found = _of(0.0, *[None] * 18, 0.4, 0.8)
    assert found.rolling_accuracy == pytest.approx(0.6)
    assert found.rise_rounds == 21


def test_the_initial_model_is_no_round() -> None:
    assert rise_times([(0, 0.0, 0.9)]) == RiseTimes()
    assert rise_times([]) == RiseTimes()


def test_the_summary_has_it(tmp_path: Path) -> None:
    facts = RunFacts("run", "fedavg", "wall", "guest", 1, None, 9.0, [], None)
    rows = [RoundRow(n, n * 3_000_000, a, 1.0) for n, a in enumerate((0.1, 0.4, 0.8))]
    records = RunRecords(tmp_path, summary={})
    records.rounds = rows

    summarise(facts, records).write(tmp_path / "summary.json")

    found = json.loads((tmp_path / "summary.json").read_text())
    keys = ("rolling_accuracy", "rise_rounds", "rise_seconds", "half_rounds", "half_seconds")
    # Means .4 and .6: nine tenths of .6 are .54.
    assert [found[key] for key in keys] == [pytest.approx(0.6), 2, 6.0, 2, 6.0]
