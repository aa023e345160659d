"""Rounds walked again with something changed, against ends worked out by hand."""

import dataclasses

import pytest

from contracts.links import LinkSpec, Shape
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from netem.transfer_time import Transfer
from reports.bottleneck.replay import Change, Replay
from reports.records.events import Event
from tests.support.fake_run import star_plan

FRAME_BITS = 8 * 1514
# One frame each way: no slow start, so its time is the frame's over the rate, and the delay.
PAYLOAD = 1448


def _event(
    node: str,
    phase: str,
    start: float,
    end: float,
    local_round: int | None = 1,
    peer: str | None = None,
    size: int = PAYLOAD,
) -> Event:
    round = local_round or 1
    return Event(node, phase, round, start, end, local_round, peer, {"bytes": size})


def _plan(rate: float | None = FRAME_BITS, delay: float = 0.5, clients: int = 2) -> Plan:
    """A star whose links carry one frame in a second, and half a second across."""
    plan, way = star_plan(clients), Shape(rate, delay, 0.0, 0.0, 100)
    links = [dataclasses.replace(link, up=way, down=way) for link in plan.links[1:]]
    return dataclasses.replace(plan, links=(plan.links[0], *links))


def _chain(client: str, computing: float, start: float = 0.0, local_round: int = 1) -> list[Event]:
    """Download and upload of 1.5 s each around that much computing."""
    sent = start + 1.5 + computing
    return [
        _event(client, "download", start, start + 1.5, local_round, "cloud"),
        _event(client, "compute", start + 1.5, sent, local_round, "cloud"),
        _event(client, "upload", sent, sent + 1.5, local_round, "cloud"),
    ]


# client1: 1.5 + 2 + 1.5 = 5; client2: 1.5 + 4 + 1.5 = 7; the aggregation takes until 8.
ROUND = [
    *_chain("client1", 2.0),
    *_chain("client2", 4.0),
    _event("cloud", "aggregate", 7.0, 8.0),
    _event("cloud", "round", 0.0, 8.0),
]


def test_without_a_change_the_rounds_end_when_they_did() -> None:
    assert Replay(ROUND, _plan()).elapsed(Change("")) == 8.0


@pytest.mark.parametrize(
    ("change", "elapsed"),
    [
        (Change("client-cloud", rate_up=2.0), 7.5),  # the frame takes half a second less
        (Change("client-cloud", rate_up=2.0, rate_down=2.0), 7.0),
        (Change("client-cloud", delay=0.5), 7.5),  # a quarter of a second each way
        (Change("client", speed=2.0), 6.0),
        (Change("cloud", memory=2.0), 7.5),
        (Change("cloud", speed=2.0), 8.0),  # it does not train
        (Change("edge-cloud", rate_up=2.0), 8.0),  # there are none
    ],
)
def test_a_change_shortens_the_phases_it_concerns(change: Change, elapsed: float) -> None:
    assert Replay(ROUND, _plan()).elapsed(change) == pytest.approx(elapsed)


def test_where_another_chain_becomes_the_longest_it_sets_the_round() -> None:
    # client2 hears the cloud over a fast link of another tier, and computes the longest: 6 s. Made
    # four times as fast it would be done at 3 s, but client1's links then set the round: at 5 s.
    plan = _plan()
    fast = LinkSpec("client2", "wan", "fast", None, None, None)
    roles = [dataclasses.replace(n, role="slow") if n.name == "client2" else n for n in plan.nodes]
    plan = dataclasses.replace(plan, nodes=tuple(roles), links=(*plan.links[:2], fast))
    events = [
        *_chain("client1", 2.0),
        _event("client2", "download", 0.0, 0.5, 1, "cloud"),
        _event("client2", "compute", 0.5, 6.5, 1, "cloud"),
        _event("client2", "upload", 6.5, 7.0, 1, "cloud"),
        _event("cloud", "aggregate", 7.0, 8.0),
        _event("cloud", "round", 0.0, 8.0),
    ]

    assert Replay(events, plan).elapsed(Change("slow", speed=4.0)) == pytest.approx(6.0)


def test_later_rounds_begin_when_the_earlier_ones_have_ended() -> None:
    second = [
        *_chain("client1", 3.0, start=8.0, local_round=2),
        _event("cloud", "aggregate", 14.0, 15.0, 2),
        _event("cloud", "round", 8.0, 15.0, 2),
    ]

    # 6 s for the first (see above), then 1.5 + 1.5 + 1.5 + 1 for the second.
    assert Replay([*ROUND, *second], _plan()).elapsed(Change("client", speed=2.0)) == 11.5


def test_rounds_of_an_edge_are_nested_in_those_of_the_cloud() -> None:
    plan = _plan()
    nodes = [
        dataclasses.replace(plan.nodes[0], children=("inst1",)),
        dataclasses.replace(plan.nodes[1], name="inst1", role="edge", children=("client2",)),
        dataclasses.replace(plan.nodes[2], parent="inst1"),
    ]
    links = [
        dataclasses.replace(plan.links[1], host="inst1", tier="edge-cloud"),
        dataclasses.replace(plan.links[2], tier="client-edge"),
    ]
    plan = dataclasses.replace(plan, nodes=tuple(nodes), links=tuple(links))

    def edge_round(start: float, local_round: int) -> list[Event]:
        chain = _chain("client2", 4.0, start, local_round)
        own = [dataclasses.replace(e, peer="inst1", round=1) for e in chain]
        end = start + 7.0
        return [
            *own,
            dataclasses.replace(_event("inst1", "aggregate", end, end, local_round), round=1),
        ]

    events = [
        _event("inst1", "download", 0.0, 1.5, 1, "cloud"),
        *edge_round(1.5, 1),
        *edge_round(8.5, 2),
        _event("inst1", "upload", 15.5, 17.0, 1, "cloud"),
        _event("cloud", "aggregate", 17.0, 17.0),
        _event("cloud", "round", 0.0, 17.0),
    ]

    replay = Replay(events, plan)

    assert replay.elapsed(Change("client", speed=2.0)) == 13.0  # 2 s less, twice
    assert replay.elapsed(Change("client-edge", rate_up=2.0, rate_down=2.0)) == 15.0
    assert replay.elapsed(Change("edge-cloud", rate_up=2.0)) == 16.5


def test_a_round_that_went_to_its_deadline_still_does() -> None:
    events = [
        *_chain("client1", 2.0),
        _event("cloud", "deadline", 20.0, 20.0, None),
        _event("cloud", "aggregate", 20.0, 21.0),
        _event("cloud", "round", 0.0, 21.0),
    ]

    assert Replay(events, _plan()).elapsed(Change("client", speed=2.0)) == 21.0


def test_who_left_is_waited_for_until_the_same_moment() -> None:
    events = [
        *_chain("client1", 2.0),
        _event("client2", "abandoned", 6.0, 6.0, 1, "cloud"),
        _event("cloud", "aggregate", 6.0, 7.0),
        _event("cloud", "round", 0.0, 7.0),
    ]

    assert Replay(events, _plan()).elapsed(Change("client", speed=2.0)) == 7.0


def test_a_device_of_two_cells_waits_for_both_models_and_trains_one_after_the_other() -> None:
    plan = _plan()
    nodes = [
        dataclasses.replace(plan.nodes[0], name="edge1", role="edge"),
        dataclasses.replace(plan.nodes[0], name="edge2", role="edge"),
        dataclasses.replace(plan.nodes[1], parent="edge1"),
    ]
    plan = dataclasses.replace(plan, nodes=tuple(nodes), links=(plan.links[1],))
    events = [
        _event("client1", "download", 0.0, 1.5, 1, "edge1"),
        _event("client1", "download", 1.0, 2.5, 1, "edge2"),
        _event("client1", "compute", 2.5, 4.5, 1, "edge1"),
        _event("client1", "compute", 4.5, 6.5, 1, "edge2"),
        _event("client1", "upload", 4.5, 6.0, 1, "edge1"),
        _event("client1", "upload", 6.5, 8.0, 1, "edge2"),
        _event("edge1", "aggregate", 6.0, 6.5),
        _event("edge2", "aggregate", 8.0, 8.5),
        _event("edge2", "round", 0.0, 8.5),
    ]

    replay = Replay(events, plan)

    assert replay.elapsed(Change("client", speed=2.0)) == 6.5
    # edge2's model, sent at 1, would be there at 2 instead of 2.5
    assert replay.elapsed(Change("client-cloud", rate_down=2.0)) == 8.0


@pytest.mark.parametrize(
    ("began", "faster"),
    [
        (0.0, 8.0),  # beside the clients, and longer: in half the time they would set the round
        (7.0, 9.0),  # between the updates and the aggregation
    ],
)
def test_a_server_that_computes_is_waited_for(began: float, faster: float) -> None:
    events = [
        *ROUND[:-2],
        _event("cloud", "compute", began, 9.0),
        _event("cloud", "aggregate", 9.0, 10.0),
        _event("cloud", "round", 0.0, 10.0),
    ]

    assert Replay(events, _plan()).elapsed(Change("cloud", speed=2.0)) == faster


def test_a_server_that_computes_after_its_aggregation_delays_the_next_round() -> None:
    events = [
        *ROUND[:-1],
        _event("cloud", "compute", 8.0, 12.0),
        _event("cloud", "round", 0.0, 12.0),
        *_chain("client1", 2.0, 12.0, 2),
        _event("cloud", "aggregate", 17.0, 18.0, 2),
        _event("cloud", "round", 12.0, 18.0, 2),
    ]

    assert Replay(events, _plan()).elapsed(Change("cloud", speed=2.0)) == 16.0


def test_a_run_without_a_finished_round_took_no_time() -> None:
    assert Replay(_chain("client1", 2.0), _plan()).elapsed(Change("")) == 0.0


def test_slow_start_counts_and_what_it_does_not_explain_stays() -> None:
    # 246,824 bytes are 171 frames; 20 Mbit/s carry them in 0.103244 s, and the way is 20 ms.
    # Windows of 10, 20, 40 frames take 6.1, 12.1, 24.2 ms of the 40 ms round trip: 77.6 ms idle.
    was = Transfer(246_824, 20e6, 0.02, 0.04)
    assert was.ideal_seconds == pytest.approx(0.123244)
    assert was.slow_start_seconds == pytest.approx(0.120 - 70 * FRAME_BITS / 20e6)
    taken = was.ideal_seconds + was.slow_start_seconds
    # 40 Mbit/s: half the time for the frames, but four windows do not fill the link.
    idle = 0.160 - 150 * FRAME_BITS / 40e6
    expected = 0.02 + (taken - 0.02 - was.slow_start_seconds) / 2 + idle

    for more in (0.0, 0.3):
        upload = _event("client1", "upload", 0.0, taken + more, 1, "cloud", 246_824)
        end = taken + more
        events = [upload, _event("cloud", "aggregate", end, end), _event("cloud", "round", 0, end)]
        replay = Replay(events, _plan(20e6, 0.02))

        assert replay.elapsed(Change("client-cloud", rate_up=2.0)) == pytest.approx(expected + more)


def test_a_connection_with_a_large_window_has_no_slow_start() -> None:
    warm = Transfer(246_824, 20e6, 0.02, 0.04).ideal_seconds
    upload = _event("client1", "upload", 0.0, warm, 1, "cloud", 246_824)
    events = [upload, _event("cloud", "aggregate", warm, warm), _event("cloud", "round", 0, warm)]

    faster = Replay(events, _plan(20e6, 0.02)).elapsed(Change("client-cloud", rate_up=2.0))

    assert faster == pytest.approx(0.02 + (warm - 0.02) / 2)


def test_a_link_that_the_timeline_changed_is_taken_as_it_was_then() -> None:
    # From second 7 on a frame takes two seconds; twice the rate saves half of that.
    way = Shape(rate=FRAME_BITS / 2, delay=0.5, jitter=0.0, loss=0.0, queue=9)
    links = ("client2-wan",)
    change = LinkChangeEvent(at=5.0, links=links, up=way, down=way, profile=None)
    plan = dataclasses.replace(_plan(), timeline=(change,))
    events = [
        *_chain("client2", 4.0)[:2],
        _event("client2", "upload", 5.5, 8.0, 1, "cloud"),
        _event("cloud", "aggregate", 8.0, 8.0),
        _event("cloud", "round", 0.0, 8.0),
    ]

    assert Replay(events, plan).elapsed(Change("client-cloud", rate_up=2.0)) == 7.0


@pytest.mark.parametrize(
    ("outages", "elapsed"),
    [
        ([], 0.75 + 0.5),  # the frame and half the way, and of the other second half
        ([_event("cell1", "outage", 0.5, 1.5, None)], 0.75 + 1.0),
    ],
)
def test_on_a_link_with_jitter_recovering_takes_round_trips_but_an_outage_its_time(
    outages: list[Event], elapsed: float
) -> None:
    # A frame takes half a second, and another one across.
    plan, way = _plan(), Shape(2 * FRAME_BITS, 0.5, 0.01, 0.0, 9)
    links = tuple(dataclasses.replace(link, up=way, down=way) for link in plan.links[1:])
    events = [
        _event("client1", "upload", 0.0, 2.0, 1, "cloud"),
        _event("cloud", "aggregate", 2.0, 2.0),
        _event("cloud", "round", 0.0, 2.0),
    ]

    replay = Replay([*events, *outages], dataclasses.replace(plan, links=links))

    assert replay.elapsed(Change("client-cloud", delay=0.5)) == pytest.approx(elapsed)


def test_an_unlimited_link_has_only_its_delay() -> None:
    events = [
        _event("client1", "upload", 0.0, 0.5, 1, "cloud"),
        _event("cloud", "aggregate", 0.5, 0.5),
        _event("cloud", "round", 0.0, 0.5),
    ]
    replay = Replay(events, _plan(rate=None))

    assert replay.elapsed(Change("client-cloud", rate_up=2.0)) == 0.5
    assert replay.elapsed(Change("client-cloud", delay=0.5)) == 0.25
