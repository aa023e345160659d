"""Who takes part: the draw, or whom the method selects by what its server has seen."""

from collections.abc import Collection
from typing import Any

import pytest

from contracts.messages import LOSS
from nodes.serving import participation
from nodes.serving.late_updates import RoundFailed
from nodes.serving.participation import Participation
from protocols import fedavg
from protocols.base import Candidates, Package
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

NAMES = ["client1", "client2", "client3"]


class Selecting(fedavg.Server):
    """Remembers what it was asked, and takes whom the test wants."""

    def __init__(self, wanted: Collection[str]) -> None:
        super().__init__(fedavg.Settings(rounds=3), {})
        self.wanted, self.asked = wanted, list[Candidates]()

    def select(self, candidates: Candidates) -> Collection[str]:
        self.asked.append(candidates)
        return self.wanted


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    time = {"now": 100.0}
    monkeypatch.setattr(participation, "now", lambda: time["now"])
    return time


def _at_cloud(method: fedavg.Server, **sections: Any) -> Participation:
    return Participation(method, planned(star_scenario(**sections)), "cloud")


def test_without_a_rule_the_draw_decides() -> None:
    plain = fedavg.Server(fedavg.Settings(rounds=3), {})

    assert _at_cloud(plain).chosen(1, NAMES, ["client2"]) == ["client2"]


def test_a_rule_is_told_times_losses_and_the_clock(clock: dict[str, float]) -> None:
    method = Selecting({"client3", "client1"})
    who = _at_cloud(method)
    assert who.chosen(1, NAMES, ["client2"]) == ["client1", "client3"], "in the order of NAMES"
    who.sent("client1")
    who.sent("client3")
    who.arrived("client3", 104.5, Package({LOSS: 0.25}))
    clock["now"] = 110.0
    who.chosen(2, NAMES, ["client1", "client2"])

    first, second = method.asked
    assert (first.local_round, first.clock, first.drawn) == (1, 0.0, ("client2",))
    assert [(one.rounds, one.seconds, one.loss) for one in first.present] == [(0, None, None)] * 3
    assert (second.local_round, second.clock) == (2, 10.0)
    seen = {one.name: (one.samples, one.rounds, one.seconds, one.loss) for one in second.present}
    assert seen["client3"] == (12, 1, 4.5, 0.25)
    assert seen["client1"] == (10, 0, None, None), "its update has not come"


@pytest.mark.parametrize(("wanted", "who"), [([], "nobody"), (["client9"], "client9")])
def test_a_selection_of_nobody_or_of_a_stranger_ends_the_run(wanted: list[str], who: str) -> None:
    with pytest.raises(RoundFailed, match=f"fedavg selected {who} for local round 4 of cloud"):
        _at_cloud(Selecting(wanted)).chosen(4, NAMES, NAMES)


def test_edges_below_a_cloud_are_never_left_out() -> None:
    method = Selecting(["inst1"])
    who = Participation(method, planned(tree_scenario()), "cloud")

    assert who.chosen(1, ["inst1", "inst2"], ["inst1", "inst2"]) == ["inst1", "inst2"]
    assert method.asked == []


def test_where_nobody_can_take_part_nobody_is_asked() -> None:
    method = Selecting(["client1"])

    assert _at_cloud(method).chosen(1, [], []) == []
    assert method.asked == []
