"""What a run shows while it goes."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli import display
from cli.display import RunDisplay, describe_round
from contracts import progress
from contracts.plan import Plan
from contracts.status import BuildingNetwork, NodeLost, RoundEnded, StartingNodes, Training
from tests.support.scenario_trees import planned, star_scenario


class Clock:
    """The host's clock, set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(display, "time", made)
    return made


def plan(rounds: int) -> Plan:
    return planned(star_scenario(protocol={"name": "fedavg", "rounds": rounds}))


def evaluated(round: int, accuracy: float | None) -> dict[str, Any]:
    return {"round": round, "key": "global", "accuracy": accuracy, "loss": 1.0}


def console(terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80)


def shown(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def test_elsewhere_than_on_a_terminal_there_are_plain_lines(clock: Clock) -> None:
    on = console()

    with RunDisplay(plan(2), on) as run:
        run.status(BuildingNetwork(nodes=13))
        run.status(StartingNodes(seconds=1.0))
        run.status(Training(seconds=1.0))
        run.status(RoundEnded(0, 0.0))
        run.tick()
        clock.now += 10
        run.evaluation(evaluated(0, 0.1))
        run.status(RoundEnded(1, 63.0))
        clock.now += 10
        run.evaluation(evaluated(1, 0.714))
        run.status(RoundEnded(2, 126.0))
        run.evaluating()
        run.evaluation(evaluated(2, 0.8))

    assert shown(on).splitlines() == [
        "building the network",
        "starting the nodes",
        "training",
        "round 1/2  accuracy 10.0 % (untrained)  elapsed 1 min 3 s  about 10.0 s left",
        "round 2/2  accuracy 71.4 % (round 1)  elapsed 2 min 6 s",
        "evaluating the last models",
        "accuracy 80.0 % (round 2)",
    ]


def test_before_an_accuracy_is_known_none_is_shown(clock: Clock) -> None:
    on = console()

    with RunDisplay(plan(1), on) as run:
        run.status(RoundEnded(0, 0.0))
        run.evaluation(evaluated(0, None) | {"error": "unreadable"})
        run.status(RoundEnded(1, 5.0))

    assert "accuracy" not in shown(on)
    assert "elapsed 5.0 s" in shown(on)


def test_time_left_shrinks_while_a_round_goes_on(clock: Clock) -> None:
    with RunDisplay(plan(3), console()) as run:
        run.status(RoundEnded(0, 0.0))
        clock.now += 20
        run.status(RoundEnded(1, 1.0))

        assert "about 40.0 s left" in run._figures()
        clock.now += 15
        assert "about 25.0 s left" in run._figures()
        clock.now += 100
        assert "about 0.00 s left" in run._figures()


@pytest.mark.parametrize("terminal", [False, True])
def test_a_lost_node_is_shown_with_its_error_whatever_that_contains(terminal: bool) -> None:
    on = console(terminal)

    with RunDisplay(plan(2), on) as run:
        run.status(NodeLost("client3", error="no [/such] file [bold]"))

    assert "lost client3 (no [/such] file [bold]); going on with a quorum" in shown(on)


def test_on_a_terminal_one_live_line_shows_how_far_things_are(clock: Clock) -> None:
    on = console(terminal=True)

    with RunDisplay(plan(2), on) as run:
        run.status(Training(seconds=1.0))
        run.status(RoundEnded(0, 0.0))
        clock.now += 4
        run.evaluation(evaluated(0, 0.5))
        run.status(RoundEnded(1, 60.0))
        run.tick()
        run._progress.refresh()

    assert "training" in shown(on)
    assert "1/2" in shown(on)
    assert "accuracy 50.0 % (untrained)" in shown(on)


def test_on_a_terminal_the_last_rounds_accuracy_is_shown_while_the_last_models_are_evaluated(
    clock: Clock,
) -> None:
    on = console(terminal=True)

    with RunDisplay(plan(2), on) as run:
        run.status(RoundEnded(0, 0.0))
        run.status(RoundEnded(2, 60.0))
        run.evaluating()
        run.evaluation(evaluated(2, 0.8))
        run.tick()
        run._progress.refresh()

    assert "evaluating the last models" in shown(on)
    assert "accuracy 80.0 % (round 2)" in shown(on)


def test_the_terminal_is_given_back_when_the_run_fails() -> None:
    on = console(terminal=True)

    with pytest.raises(RuntimeError), RunDisplay(plan(2), on) as run:
        raise RuntimeError("the run failed")

    assert run._progress.live.is_started is False


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_written_down_as_it_is_shown(
    clock: Clock, tmp_path: Path, terminal: bool
) -> None:
    on, file = console(terminal), tmp_path / "progress.json"

    with RunDisplay(plan(4), on, file) as run:
        run.status(RoundEnded(0, 0.0))
        run.evaluation(evaluated(0, 0.1))
        assert progress.read(file) is None
        clock.now += 10
        run.status(RoundEnded(1, 63.0))
        at_its_end = progress.read(file)
        run.evaluation(evaluated(1, 0.714))
        evaluated_since = progress.read(file)

    figures = {"elapsed": 63.0, "seconds_left": 30.0}
    assert at_its_end == progress.Progress(1, 4, **figures, accuracy=0.1, accuracy_round=0)
    assert evaluated_since == progress.Progress(1, 4, **figures, accuracy=0.714, accuracy_round=1)
    if not terminal:
        assert shown(on).splitlines() == [describe_round(at_its_end)]
