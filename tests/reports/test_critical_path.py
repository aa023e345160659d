"""The critical path of a round: worked out by hand, complete, and without counting twice."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.tables import PHASES
from reports.bottleneck.critical_path import PhaseIndex, Step, critical_path
from reports.records.events import Event
from reports.records.rounds import time_spent


def _event(
    node: str,
    phase: str,
    start: float,
    end: float,
    local_round: int | None = 1,
    peer: str | None = None,
    round: int = 1,
) -> Event:
    return Event(node, phase, round, start, end, local_round, peer, {})


def _path(events: list[Event]) -> list[tuple[str, str, float, float]]:
    index = PhaseIndex(events)
    return [(s.node, s.phase, s.start, s.end) for s in critical_path(index, index.rounds[0])]


def _child(
    name: str, parent: str, moments: list[float], local_round: int = 1, round: int = 1
) -> list[Event]:
    """A client's round, from the moments sent, received, computed, sent, arrived."""
    sent, received, computed, replied, arrived = moments
    return [
        _event(name, "download", sent, received, local_round, parent, round),
        _event(name, "compute", received, computed, local_round, None, round),
        _event(name, "upload", replied, arrived, local_round, parent, round),
    ]


STAR = [
    *_child("client1", "cloud", [0.0, 1.0, 4.0, 4.0, 6.0]),
    *_child("client2", "cloud", [0.5, 2.0, 6.0, 6.25, 9.0]),
    _event("client1", "wait", 6.0, 9.0),
    _event("cloud", "wait", 0.0, 9.0),
    _event("cloud", "aggregate", 9.0, 9.5),
    _event("cloud", "round", 0.0, 9.75, None),
]


def _study(moment: str, start: float, end: float) -> Event:
    """The cloud's own training."""
    event = _event("cloud", "compute", start, end)
    event.fields["moment"] = moment
    return event


def test_a_servers_training_before_the_round_and_after_it_is_on_the_path() -> None:
    events = [
        _study("before", 0.0, 2.0),
        *_child("client1", "cloud", [2.0, 3.0, 5.0, 5.0, 6.0]),
        _event("cloud", "aggregate", 6.0, 6.5),
        _study("after", 6.5, 8.0),
        _event("cloud", "round", 0.0, 8.0, None),
    ]

    assert _path(events) == [
        ("cloud", "compute", 0.0, 2.0),
        ("client1", "download", 2.0, 3.0),
        ("client1", "compute", 3.0, 5.0),
        ("client1", "upload", 5.0, 6.0),
        ("cloud", "aggregate", 6.0, 6.5),
        ("cloud", "compute", 6.5, 8.0),
    ]


@pytest.mark.parametrize(("own_end", "waits_for"), [(5.0, "client1"), (7.0, "cloud")])
def test_a_server_that_trains_beside_its_clients_waits_for_whoever_is_last(
    own_end: float, waits_for: str
) -> None:
    last = max(6.0, own_end)
    events = [
        *_child("client1", "cloud", [0.0, 1.0, 4.0, 4.0, 6.0]),
        _study("beside", 0.0, own_end),
        _event("cloud", "aggregate", last, last + 0.5),
        _event("cloud", "round", 0.0, last + 0.5, None),
    ]

    path = _path(events)

    assert [node for node, phase, *_ in path if phase == "compute"] == [waits_for]
    assert sum(end - start for *_, start, end in path) == pytest.approx(last + 0.5)


def test_a_star_round_is_set_by_the_client_whose_update_came_last() -> None:
    path = _path(STAR)

    assert path == [
        ("cloud", "wait", 0.0, 0.5),  # client2's model was sent second
        ("client2", "download", 0.5, 2.0),
        ("client2", "compute", 2.0, 6.0),
        ("client2", "wait", 6.0, 6.25),
        ("client2", "upload", 6.25, 9.0),
        ("cloud", "aggregate", 9.0, 9.5),
        ("cloud", "wait", 9.5, 9.75),
    ]


def test_a_server_that_computed_longer_than_its_clients_sets_the_round() -> None:
    beside = [_event("cloud", "compute", 0.25, 12.0), _event("cloud", "aggregate", 12.0, 12.5)]
    events = [*STAR[:-2], *beside, _event("cloud", "round", 0.0, 12.5, None)]

    assert _path(events) == [
        ("cloud", "wait", 0.0, 0.25),
        ("cloud", "compute", 0.25, 12.0),
        ("cloud", "aggregate", 12.0, 12.5),
    ]


def test_what_a_server_computes_before_and_after_its_clients_is_no_wait() -> None:
    before, after = _event("cloud", "compute", 0.0, 0.5), _event("cloud", "compute", 9.5, 9.75)

    path = _path([*STAR, before, after])

    assert path[0] == ("cloud", "compute", 0.0, 0.5)
    assert path[-1] == ("cloud", "compute", 9.5, 9.75)
    assert "wait" not in [phase for node, phase, _, _ in path if node == "cloud"]


def test_the_time_of_a_star_round_adds_up_by_phase() -> None:
    index = PhaseIndex(STAR)

    spent = time_spent(critical_path(index, index.rounds[0]))

    assert spent == {
        "download": 1_500_000,
        "compute": 4_000_000,
        "upload": 2_750_000,
        "wait": 1_000_000,
        "aggregate": 500_000,
    }
    assert sum(spent.values()) == 9_750_000


# Two institutions with two clients and two rounds each, in global round 3: local rounds 5, 6.
TREE = [
    _event("inst1", "download", 100.0, 102.0, 3, "cloud", 3),
    *_child("client1", "inst1", [102.0, 103.0, 105.0, 105.0, 106.0], 5, 3),
    *_child("client2", "inst1", [102.0, 103.0, 104.0, 104.0, 105.0], 5, 3),
    _event("inst1", "aggregate", 106.0, 106.5, 5, None, 3),
    *_child("client1", "inst1", [106.5, 107.0, 109.0, 109.0, 110.0], 6, 3),
    *_child("client2", "inst1", [106.5, 107.0, 108.0, 108.0, 109.0], 6, 3),
    _event("inst1", "aggregate", 110.0, 110.5, 6, None, 3),
    _event("inst2", "download", 100.0, 104.0, 3, "cloud", 3),
    *_child("client3", "inst2", [104.0, 105.0, 107.0, 107.0, 108.0], 5, 3),
    *_child("client4", "inst2", [104.0, 105.0, 110.0, 110.0, 112.0], 5, 3),
    _event("inst2", "aggregate", 112.0, 112.5, 5, None, 3),
    *_child("client3", "inst2", [112.75, 114.0, 119.0, 119.0, 120.0], 6, 3),
    *_child("client4", "inst2", [112.5, 113.0, 115.0, 115.0, 117.0], 6, 3),
    _event("inst2", "aggregate", 120.0, 121.0, 6, None, 3),
    _event("inst2", "upload", 121.0, 125.0, 3, "cloud", 3),
    _event("inst1", "upload", 110.5, 113.0, 3, "cloud", 3),
    _event("cloud", "aggregate", 125.0, 125.5, 3, None, 3),
    _event("cloud", "round", 100.0, 125.5, None, None, 3),
]


def test_a_tree_round_goes_back_through_every_inner_round_of_the_last_institution() -> None:
    path = _path(TREE)

    assert path == [
        ("inst2", "download", 100.0, 104.0),
        ("client4", "download", 104.0, 105.0),
        ("client4", "compute", 105.0, 110.0),
        ("client4", "upload", 110.0, 112.0),
        ("inst2", "aggregate", 112.0, 112.5),
        ("inst2", "wait", 112.5, 112.75),
        ("client3", "download", 112.75, 114.0),
        ("client3", "compute", 114.0, 119.0),
        ("client3", "upload", 119.0, 120.0),
        ("inst2", "aggregate", 120.0, 121.0),
        ("inst2", "upload", 121.0, 125.0),
        ("cloud", "aggregate", 125.0, 125.5),
    ]


def test_the_time_of_a_tree_round_adds_up_by_phase() -> None:
    index = PhaseIndex(TREE)

    spent = time_spent(critical_path(index, index.rounds[0]))

    assert [spent[phase] / 1e6 for phase in PHASES] == [6.25, 10.0, 7.0, 0.25, 2.0]


def test_inner_rounds_of_another_iteration_stay_out() -> None:
    earlier = [
        _event("inst2", "aggregate", 90.0, 95.0, 4, None, 2),
        _event("cloud", "aggregate", 99.0, 100.0, 2, None, 2),
    ]

    assert _path(earlier + TREE) == _path(TREE)


def test_overlapping_phases_are_counted_once() -> None:
    events = [
        _event("client1", "download", -1.0, 5.0, 1, "cloud"),  # sent before this round began
        _event("client1", "compute", 4.0, 7.0),  # began before all of it was there
        _event("client1", "upload", 6.0, 9.0, 1, "cloud"),
        _event("cloud", "aggregate", 8.0, 10.0),
        _event("cloud", "round", 0.0, 10.0, None),
    ]

    path = _path(events)

    assert path == [
        ("client1", "download", 0.0, 4.0),
        ("client1", "compute", 4.0, 6.0),
        ("client1", "upload", 6.0, 8.0),
        ("cloud", "aggregate", 8.0, 10.0),
    ]


def test_a_phase_that_another_one_hides_adds_nothing() -> None:
    hidden = _event("client2", "compute", 6.5, 8.0)
    events = [hidden if e.node == "client2" and e.phase == "compute" else e for e in STAR]

    path = _path(events)

    assert [step[1] for step in path] == [
        "wait",
        "download",
        "wait",
        "upload",
        "aggregate",
        "wait",
    ]


@pytest.mark.parametrize("missing", PHASES)
def test_what_is_not_on_record_is_waiting(missing: str) -> None:
    events = [e for e in STAR if e.phase != missing]
    index = PhaseIndex(events)

    spent = time_spent(critical_path(index, index.rounds[0]))

    assert sum(spent.values()) == 9_750_000
    assert missing == "wait" or spent[missing] == 0


def test_a_round_without_any_phase_is_one_wait() -> None:
    assert _path([_event("cloud", "round", 0.0, 3.0, None)]) == [("cloud", "wait", 0.0, 3.0)]


def test_waiting_for_a_child_that_never_answered_belongs_to_its_server() -> None:
    events = [
        *_child("client1", "cloud", [0.0, 1.0, 4.0, 4.0, 6.0]),
        _event("cloud", "deadline", 30.0, 30.0, None),
        _event("cloud", "aggregate", 30.0, 31.0),
        _event("cloud", "round", 0.0, 31.0, None),
    ]

    assert _path(events)[-2:] == [
        ("cloud", "wait", 6.0, 30.0),
        ("cloud", "aggregate", 30.0, 31.0),
    ]


PARENTS = {"inst1": "cloud", "inst2": "cloud", "client1": "inst1", "client2": "inst2"}
moments = st.floats(-5.0, 25.0).map(lambda value: round(value, 9))


@st.composite
def _any_phase(draw: st.DrawFn) -> Event:
    node = draw(st.sampled_from(["cloud", *PARENTS]))
    start, end = sorted([draw(moments), draw(moments)])
    local_round = draw(st.integers(1, 2))
    return _event(node, draw(st.sampled_from(PHASES)), start, end, local_round, PARENTS.get(node))


@given(st.lists(_any_phase(), max_size=30))
def test_the_steps_cover_the_round_without_gap_or_overlap(events: list[Event]) -> None:
    index = PhaseIndex([*events, _event("cloud", "round", 0.123456789, 20.987654321, None)])

    path: list[Step] = critical_path(index, index.rounds[0])

    assert path[0].start == 0.123456789 and path[-1].end == 20.987654321
    assert all(a.end == b.start for a, b in pairwise(path))
    assert all(step.start < step.end for step in path)
    assert sum(time_spent(path).values()) == 20_987_654 - 123_457


def test_an_update_without_rounds_leads_back_to_the_model_that_it_answers() -> None:
    # client1 was sent model 1 at 0 and is slow; client2's update made model 2 at 4.0
    slow = _child("client1", "cloud", [0.0, 1.0, 6.0, 6.0, 7.0])
    slow[2] = Event("client1", "upload", 2, 6.0, 7.0, 2, "cloud", {"answers": 1})
    events = [
        *_child("client2", "cloud", [0.0, 1.0, 3.0, 3.0, 4.0]),
        _event("cloud", "aggregate", 4.0, 4.5),
        _event("cloud", "round", 0.0, 4.5, None),
        *slow,
        _event("cloud", "aggregate", 7.0, 7.5, 2, None, 2),
        _event("cloud", "round", 4.5, 7.5, None, None, 2),
    ]
    index = PhaseIndex(events)

    path = critical_path(index, index.rounds[1])

    assert [(s.node, s.phase, s.start, s.end) for s in path] == [
        ("client1", "compute", 4.5, 6.0),
        ("client1", "upload", 6.0, 7.0),
        ("cloud", "aggregate", 7.0, 7.5),
    ]
