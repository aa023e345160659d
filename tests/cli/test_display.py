"""What a run shows while it goes."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from cli import display
from cli.display import RunDisplay, describe_round
from contracts import progress
from contracts.status import BuildingNetwork, NodeLost, RoundEnded, StartingNodes, Training


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


def console(terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=80)


def shown(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def test_elsewhere_than_on_a_terminal_there_are_plain_lines(clock: Clock) -> None:
    on = console()

    with RunDisplay(4, on) as run:
        run.status(BuildingNetwork(nodes=13))
        run.status(StartingNodes(seconds=1.0))
        run.status(Training(seconds=1.0))
        run.status(RoundEnded(0, 0.0))
        run.tick()
        clock.now += 10
        run.evaluation({"round": 0, "accuracy": 0.1})
        run.evaluation({"round": 1, "accuracy": 0.714})
        run.status(RoundEnded(1, 63.0))

    assert shown(on).splitlines() == [
        "building the network",
        "starting the nodes",
        "training",
        "round 1/4  accuracy 71.4%  elapsed 1 min 3 s  about 30.0 s left",
    ]


def test_before_an_accuracy_is_known_none_is_shown(clock: Clock) -> None:
    on = console()

    with RunDisplay(1, on) as run:
        run.status(RoundEnded(0, 0.0))
        run.evaluation({"round": 0, "accuracy": None, "error": "unreadable"})
        run.status(RoundEnded(1, 5.0))

    assert "accuracy" not in shown(on)
    assert "elapsed 5.0 s" in shown(on)


def test_time_left_shrinks_while_a_round_goes_on(clock: Clock) -> None:
    with RunDisplay(3, console()) as run:
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

    with RunDisplay(2, on) as run:
        run.status(NodeLost("client3", error="no [/such] file [bold]"))

    assert "lost client3 (no [/such] file [bold]); going on with a quorum" in shown(on)


def test_on_a_terminal_one_live_line_shows_how_far_things_are(clock: Clock) -> None:
    on = console(terminal=True)

    with RunDisplay(2, on) as run:
        run.status(Training(seconds=1.0))
        run.status(RoundEnded(0, 0.0))
        clock.now += 4
        run.evaluation({"round": 1, "accuracy": 0.5})
        run.status(RoundEnded(1, 60.0))
        run.tick()
        run._progress.refresh()

    assert "training" in shown(on)
    assert "1/2" in shown(on)
    assert "accuracy 50.0%" in shown(on)


def test_the_terminal_is_given_back_when_the_run_fails() -> None:
    on = console(terminal=True)

    with pytest.raises(RuntimeError), RunDisplay(2, on) as run:
        raise RuntimeError("the run failed")

    assert run._progress.live.is_started is False


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_written_down_as_it_is_shown(
    clock: Clock, tmp_path: Path, terminal: bool
) -> None:
    on, file = console(terminal), tmp_path / "progress.json"

    with RunDisplay(4, on, file) as run:
        run.status(RoundEnded(0, 0.0))
        assert progress.read(file) is None
        clock.now += 10
        run.evaluation({"round": 1, "accuracy": 0.714})
        run.status(RoundEnded(1, 63.0))

    found = progress.read(file)
    assert found == progress.Progress(1, 4, elapsed=63.0, seconds_left=30.0, accuracy=0.714)
    assert (
        describe_round(found) == "round 1/4  accuracy 71.4%  elapsed 1 min 3 s  about 30.0 s left"
    )
    if not terminal:
        assert shown(on).splitlines() == [describe_round(found)]
