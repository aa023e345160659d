"""The critical path where cells overlap: through a device that works for several servers."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.tables import PHASES
from reports.bottleneck.critical_path import PhaseIndex, critical_path
from reports.records.events import Event
from reports.records.rounds import time_spent
from tests.reports.test_critical_path import _child, _event, _path, moments

# client1 is alone in cell 1; client2 hears both, waits for both, trains for edge1, then for edge2.
BOTH_DIRECTIONS = [
    *_child("client1", "edge1", [0.0, 1.0, 3.0, 3.0, 4.0]),
    _event("client2", "download", 0.0, 1.0, 1, "edge1"),
    _event("client2", "download", 0.5, 2.0, 1, "edge2"),
    _event("client2", "compute", 2.0, 5.0, 1, "edge1"),
    _event("client2", "upload", 5.0, 6.5, 1, "edge1"),
    _event("client2", "compute", 5.25, 9.0, 1, "edge2"),
    _event("client2", "upload", 9.0, 11.0, 1, "edge2"),
    _event("edge1", "aggregate", 6.5, 7.0),
    _event("edge2", "aggregate", 11.0, 11.5),
]
ENDS_AT_2 = _event("edge2", "round", 0.0, 12.0, None)


def test_a_device_that_trained_for_another_edge_before_is_walked_through_both() -> None:
    assert _path([*BOTH_DIRECTIONS, ENDS_AT_2]) == [
        ("edge2", "wait", 0.0, 0.5),
        ("client2", "download", 0.5, 2.0),
        ("client2", "compute", 2.0, 5.0),  # for edge1
        ("client2", "wait", 5.0, 5.25),
        ("client2", "compute", 5.25, 9.0),
        ("client2", "upload", 9.0, 11.0),
        ("edge2", "aggregate", 11.0, 11.5),
        ("edge2", "wait", 11.5, 12.0),
    ]


def test_the_time_of_a_round_on_cells_adds_up_by_phase() -> None:
    index = PhaseIndex([*BOTH_DIRECTIONS, ENDS_AT_2])

    spent = time_spent(critical_path(index, index.rounds[0]))

    assert [spent[phase] / 1e6 for phase in PHASES] == [1.5, 6.75, 2.0, 1.25, 0.5]


def test_what_the_device_did_later_for_another_edge_stays_out() -> None:
    path = _path([*BOTH_DIRECTIONS, _event("edge1", "round", 0.0, 7.0, None)])

    assert path == [
        ("edge2", "wait", 0.0, 0.5),  # edge1's own model had come long before
        ("client2", "download", 0.5, 2.0),
        ("client2", "compute", 2.0, 5.0),
        ("client2", "upload", 5.0, 6.5),
        ("edge1", "aggregate", 6.5, 7.0),
    ]


def test_the_wait_for_an_edge_whose_last_round_was_longer_is_that_edges() -> None:
    late = [e for e in BOTH_DIRECTIONS if (e.phase, e.peer) != ("download", "edge2")]
    late.append(_event("client2", "download", 1.5, 2.0, 1, "edge2"))

    path = _path([*late, _event("edge1", "round", 0.0, 7.0, None)])

    assert path[:2] == [("edge2", "wait", 0.0, 1.5), ("client2", "download", 1.5, 2.0)]


def test_a_model_that_came_while_the_device_trained_another_ends_the_way_at_its_download() -> None:
    events = [
        _event("client2", "download", 0.0, 1.0, 1, "edge1"),
        _event("client2", "compute", 1.0, 4.0, 1, "edge1"),
        _event("client2", "download", 0.5, 5.0, 1, "edge2"),
        _event("client2", "compute", 5.0, 8.0, 1, "edge2"),
        _event("client2", "upload", 8.0, 9.0, 1, "edge2"),
        _event("edge2", "round", 0.0, 9.0, None),
    ]

    assert [step[1] for step in _path(events)] == ["wait", "download", "compute", "upload"]


@pytest.mark.parametrize("trained", ["", None, "edge1"])
def test_one_training_for_all_edges_counts_for_each_of_them(trained: str | None) -> None:
    events = [
        _event("client2", "download", 0.0, 1.0, 1, "edge1"),
        _event("client2", "download", 0.0, 2.0, 1, "edge2"),
        _event("client2", "compute", 2.0, 5.0, 1, trained),
        _event("client2", "upload", 5.0, 6.0, 1, "edge1"),
        _event("client2", "upload", 5.0, 8.0, 1, "edge2"),
        _event("edge2", "aggregate", 8.0, 9.0),
        _event("edge2", "round", 0.0, 9.0, None),
    ]

    assert _path(events) == [
        ("client2", "download", 0.0, 2.0),
        ("client2", "compute", 2.0, 5.0),
        ("client2", "upload", 5.0, 8.0),
        ("edge2", "aggregate", 8.0, 9.0),
    ]


def test_the_round_before_stays_out() -> None:
    def later(event: Event) -> Event:
        return replace(
            event,
            start=event.start + 12,
            end=event.end + 12,
            round=event.round + 1,
            local_round=event.local_round and event.local_round + 1,
        )

    events = [*BOTH_DIRECTIONS, ENDS_AT_2]
    index = PhaseIndex([*events, *map(later, events)])

    first, second = (critical_path(index, event) for event in index.rounds)

    assert [(s.node, s.phase, s.start + 12, s.end + 12) for s in first] == [
        (s.node, s.phase, s.start, s.end) for s in second
    ]


def test_cells_below_a_cloud_are_walked_like_any_edge() -> None:
    events = [
        _event("edge2", "download", 0.0, 1.0, 1, "cloud"),
        *(replace(e, start=e.start + 1, end=e.end + 1) for e in BOTH_DIRECTIONS),
        _event("edge1", "upload", 8.0, 9.0, 1, "cloud"),
        _event("edge2", "upload", 12.5, 14.0, 1, "cloud"),
        _event("cloud", "aggregate", 14.0, 15.0),
        _event("cloud", "round", 0.0, 15.0, None),
    ]

    assert [(node, phase) for node, phase, _, _ in _path(events)] == [
        ("edge2", "download"),
        ("edge2", "wait"),
        ("client2", "download"),
        ("client2", "compute"),
        ("client2", "wait"),
        ("client2", "compute"),
        ("client2", "upload"),
        ("edge2", "aggregate"),
        ("edge2", "upload"),
        ("cloud", "aggregate"),
    ]


@st.composite
def _any_phase(draw: st.DrawFn) -> Event:
    node = draw(st.sampled_from(["edge1", "edge2", "client1", "client2"]))
    start, end = sorted([draw(moments), draw(moments)])
    peers = ["edge1", "edge2", "", None] if node.startswith("client") else [None]
    peer = draw(st.sampled_from(peers))
    return _event(node, draw(st.sampled_from(PHASES)), start, end, draw(st.integers(1, 2)), peer)


@given(st.lists(_any_phase(), max_size=30))
def test_the_steps_cover_the_round_without_gap_or_overlap(events: list[Event]) -> None:
    index = PhaseIndex([*events, _event("edge2", "round", 0.123456789, 20.987654321, None)])

    path = critical_path(index, index.rounds[0])

    assert path[0].start == 0.123456789 and path[-1].end == 20.987654321
    assert all(a.end == b.start for a, b in pairwise(path))
    assert all(step.start < step.end for step in path)
    assert sum(time_spent(path).values()) == 20_987_654 - 123_457
