"""Rounds whose transfers share the server's link: attribution, what-if and the sentence."""

import dataclasses

import pytest

from contracts.links import Shape
from contracts.plan import Plan
from contracts.timeline import LinkChangeEvent
from reports.bottleneck.critical_path import round_paths
from reports.bottleneck.overview import bottleneck
from reports.bottleneck.replay import Change
from reports.bottleneck.shared_replay import SharedReplay
from reports.records.events import Event
from tests.support.scenario_trees import planned, star_scenario

FRAME_BITS, PAYLOAD = 8 * 1514, 1448


def plan_with_shared(rate: float, own: float = 100.0, delay: str = "0ms") -> Plan:
    """Two clients, and a server whose own line carries so many frames in a second."""
    rates = {"client-cloud": own, "cloud": rate}
    links = {name: {"rate": f"{frames * FRAME_BITS:.0f}bit"} for name, frames in rates.items()}
    links["client-cloud"]["delay"] = delay
    return planned(star_scenario(2, links=links, transport={"encryption": False}))


def one_round(transfer: float, computing: float) -> list[Event]:
    """Both clients download together, compute as long, and upload together."""
    events = []
    for client in ("client1", "client2"):
        sent = transfer + computing
        events += [
            Event(client, "download", 1, 0.0, transfer, 1, "cloud", {"bytes": PAYLOAD}),
            Event(client, "compute", 1, transfer, sent, 1, "cloud", {}),
            Event(client, "upload", 1, sent, sent + transfer, 1, "cloud", {"bytes": PAYLOAD}),
        ]
    end = 2 * transfer + computing
    return [
        *events,
        Event("cloud", "aggregate", 1, end, end, 1, None, {}),
        Event("cloud", "round", 1, 0.0, end, None, None, {}),
    ]


# Two frames cross one frame a second together: 2 s each way, with 4 s of computing 8 s in all.
ROUND = one_round(transfer=2.0, computing=4.0)


def test_without_a_change_the_round_ends_when_it_did() -> None:
    assert SharedReplay(ROUND, plan_with_shared(1.0)).elapsed(Change("")) == pytest.approx(8.0)


def test_twice_the_shared_rate_halves_the_transfers_that_meet_there() -> None:
    replay = SharedReplay(ROUND, plan_with_shared(1.0))

    assert replay.elapsed(Change("links.cloud", rate_up=2.0)) == pytest.approx(7.0)
    both = Change("links.cloud", rate_up=2.0, rate_down=2.0)
    assert replay.elapsed(both) == pytest.approx(6.0)


def test_faster_lines_of_the_clients_do_not_help() -> None:
    replay = SharedReplay(ROUND, plan_with_shared(1.0))

    assert replay.elapsed(Change("client-cloud", rate_up=2.0, rate_down=2.0)) == pytest.approx(8.0)


def test_beyond_twice_the_rate_the_clients_own_lines_are_the_limit() -> None:
    # Each client's own line takes a second for its frame: four times the shared rate is no better.
    replay = SharedReplay(ROUND, plan_with_shared(1.0, own=1.0))

    twice = replay.elapsed(Change("links.cloud", rate_up=2.0, rate_down=2.0))
    four_times = replay.elapsed(Change("links.cloud", rate_up=4.0, rate_down=4.0))
    assert twice == four_times == pytest.approx(6.0)


def test_delay_is_kept_and_what_comes_of_crowding_shrinks() -> None:
    late = one_round(transfer=2.5, computing=4.0)  # half a second more each way: 9 s in all
    both = Change("links.cloud", rate_up=2.0, rate_down=2.0)

    far = SharedReplay(late, plan_with_shared(1.0, delay="500ms"))
    crowded = SharedReplay(late, plan_with_shared(1.0))

    assert far.elapsed(both) == pytest.approx(7.0)
    assert crowded.elapsed(both) == pytest.approx(6.5)


def test_a_line_counts_with_the_rate_that_the_timeline_gave_it() -> None:
    # Slowed to a frame in two seconds, the clients' own lines are what both transfers wait for.
    plan = plan_with_shared(1.0)
    slow = Shape(FRAME_BITS / 2, 0.0, 0.0, 0.0, 100)
    names = tuple(link.name for link in plan.links if link.tier)
    slowed = LinkChangeEvent(at=0.0, links=names, up=slow, down=slow, profile=None)
    replay = SharedReplay(ROUND, dataclasses.replace(plan, timeline=(slowed,)))

    shared = replay.elapsed(Change("links.cloud", rate_up=2.0, rate_down=2.0))
    own = replay.elapsed(Change("client-cloud", rate_up=4.0, rate_down=4.0))
    both = replay.elapsed(Change("client-cloud", rate_up=2.0, rate_down=2.0))
    assert shared == pytest.approx(8.0)
    assert own == both == pytest.approx(8.0), "then the shared line is: a second for each frame"


def test_the_sentence_names_what_is_shared_and_by_how_many() -> None:
    found = bottleneck(
        one_round(transfer=2.0, computing=1.0),
        plan_with_shared(1.0),
        {event.round: path for event, path in round_paths(one_round(2.0, 1.0))},
    )

    assert found["sentence"] == (
        "80 % of the time is the cloud's own 12.112 kbit/s, shared by 2 transfers; "
        "at 24.224 kbit/s both ways the run would take 40 % less time."
    )
    assert found["by_part"] == {
        "links.cloud down": 0.4,
        "links.cloud up": 0.4,
        "client compute": 0.2,
        "client-cloud down": 0.0,
        "client-cloud up": 0.0,
    }
    assert found["by_link"]["cloud-wan"] == {"down": 0.4, "up": 0.4}
