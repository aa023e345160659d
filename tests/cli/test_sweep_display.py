"""What a sweep shows while it goes."""

import dataclasses
import io
from typing import Any, cast

import pytest
from rich.console import Console

from cli.sweep.child import RunningChild, RunOutcome
from cli.sweep.display import SweepDisplay, describe_summary
from tests.support.sweep_stand_ins import some_runs


class Child:
    """Something under way."""

    def __init__(self, number: int, words: str) -> None:
        self.run, self.seconds, self._words = some_runs(number)[-1], 72.0, words

    def progress(self) -> str:
        return self._words


def console(terminal: bool = False, height: int = 20) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80, height=height)


def shown(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def under_way(*words: str) -> list[RunningChild]:
    return [cast(RunningChild, Child(number, text)) for number, text in enumerate(words, 1)]


def test_elsewhere_than_on_a_terminal_each_run_has_a_line_at_its_start_and_end() -> None:
    on = console()
    first, second = some_runs(2)
    summary = {"final_accuracy": 0.714, "elapsed_seconds": 63.0}

    with SweepDisplay(5, 3, on) as display:
        display.started(first)
        display.started(second)
        display.tick(under_way("round 1/2  [bold]"), [])
        display.ended(RunOutcome(second, 9.0, {}, "no [link] (exit code 1; see seed2.log)"))
        display.ended(RunOutcome(first, 12.0, summary, None))

    assert shown(on).splitlines() == [
        "already there: 3 of 5 runs",
        "seed1: started (4 of 5)",
        "seed2: started (5 of 5)",
        "seed2: FAILED: no [link] (exit code 1; see seed2.log) (4 of 5, took 9.0 s)",
        "seed1: accuracy 71.4 %, elapsed 1 min 3 s (5 of 5, took 12.0 s)",
    ]
    assert display.finished == 4


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        ({"target_accuracy": 0.8, "time_to_target_seconds": 42.0}, "80 % after 42.0 s"),
        ({"target_accuracy": 0.8, "time_to_target_seconds": None}, "80 % not reached"),
        ({"target_accuracy": None, "final_accuracy": None}, "finished"),
    ],
)
def test_an_outcome_says_whether_the_target_was_reached(
    summary: dict[str, Any], words: str
) -> None:
    assert describe_summary(summary) == words


def test_on_a_terminal_each_run_under_way_has_a_line() -> None:
    on = console(terminal=True)

    with SweepDisplay(4, 0, on) as display:
        display.tick(under_way("round 3/10  accuracy 70.1%  [x]", ""), some_runs(4)[2:])

    lines = shown(on).splitlines()
    assert any("seed1" in line and "round 3/10" in line and "1 min 12 s" in line for line in lines)
    assert any("seed2" in line and "starting" in line for line in lines)
    assert any("seed4" in line and "waiting" in line for line in lines)
    assert "0 of 4 runs ended" in shown(on)


def test_those_waiting_are_summed_up_where_they_do_not_fit() -> None:
    on = console(terminal=True, height=8)

    with SweepDisplay(42, 0, on) as display:
        display.tick(under_way("round 1/2  ", "round 1/2  "), some_runs(42)[2:])

    assert "0 of 42 runs ended, 40 waiting" in shown(on)
    assert "seed9" not in shown(on)


def test_of_a_long_name_the_end_is_shown_which_tells_runs_apart() -> None:
    on = console(terminal=True)
    long = dataclasses.replace(some_runs(1)[0], id=f"tempo-{'x' * 60}-fedadp-4-seed1")

    with SweepDisplay(1, 0, on) as display:
        display.tick([], [long])

    assert "…" in shown(on)
    assert "fedadp-4-seed1" in shown(on)


def test_the_terminal_is_given_back_when_the_sweep_is_interrupted() -> None:
    on = console(terminal=True)

    with pytest.raises(KeyboardInterrupt), SweepDisplay(2, 0, on) as display:
        display.tick(under_way("round 1/2  "), [])
        raise KeyboardInterrupt

    assert display._live.is_started is False
