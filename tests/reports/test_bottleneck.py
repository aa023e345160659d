"""Where the time went, who was waited for, and the sentence, on rounds worked out by hand."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from contracts.events import Details
from contracts.links import Shape
from contracts.plan import Plan
from reports.bottleneck.attribution import attribute_time
from reports.bottleneck.critical_path import Step, round_paths
from reports.bottleneck.overview import bottleneck
from reports.bottleneck.stragglers import stragglers
from reports.records.events import Event, read_events
from tests.support.fake_run import FakeRun, star_plan

MEGA = 1e6


def _bottleneck(events: list[Event], plan: Plan | None) -> dict[str, Any]:
    """The object of summary.json, as RunRecords asks for it."""
    return bottleneck(events, plan, {event.round: path for event, path in round_paths(events)})


def _plan(up: float, down: float, delay: float = 0.0) -> Plan:
    plan = star_plan(2)
    ways = Shape(up, delay, 0, 0, 9), Shape(down, delay, 0, 0, 9)
    links = [dataclasses.replace(link, up=ways[0], down=ways[1]) for link in plan.links[1:]]
    return dataclasses.replace(plan, links=(plan.links[0], *links))


def _round(download: float, compute: float, upload: float, late: str = "client2") -> list[Event]:
    """Both clients alike, but the late one computes a second longer."""
    events = []
    for client in ("client1", "client2"):
        trained = download + compute + (client == late)
        size: Details = {"bytes": 1_000_000}
        events += [
            Event(client, "download", 1, 0.0, download, 1, "cloud", size),
            Event(client, "compute", 1, download, trained, 1, "cloud", {}),
            Event(client, "upload", 1, trained, trained + upload, 1, "cloud", size),
        ]
    end = download + compute + 1 + upload
    return [
        *events,
        Event("cloud", "aggregate", 1, end, end, 1, None, {}),
        Event("cloud", "round", 1, 0.0, end, None, None, {}),
    ]


def test_every_second_stands_once_in_each_table() -> None:
    steps = [
        Step("client1", "download", 0.0, 2.0, "cloud"),
        Step("client1", "compute", 2.0, 5.0),
        Step("client1", "upload", 5.0, 9.0, "cloud"),
        Step("cloud", "aggregate", 9.0, 10.0),
    ]

    tables = attribute_time(steps, star_plan(2)).tables()

    assert tables == {
        "by_phase": {"upload": 0.4, "compute": 0.3, "download": 0.2, "aggregate": 0.1},
        "by_tier": {"client-cloud": 0.6, "client": 0.3, "cloud": 0.1},
        "by_part": {
            "client-cloud up": 0.4,
            "client compute": 0.3,
            "client-cloud down": 0.2,
            "cloud aggregate": 0.1,
        },
        "by_link": {"client1-wan": {"up": 0.4, "down": 0.2}},
        "by_node": {"client1": 0.9, "cloud": 0.1},
    }


def test_who_came_last_is_counted_with_the_time_that_others_waited() -> None:
    ends = {"client1": 4.0, "client2": 6.0, "client3": 9.0}
    events = [Event(n, "upload", 1, 0.0, end, 1, "cloud", {}) for n, end in ends.items()]
    events += [Event(n, "upload", 2, 10.0, 12.0, 2, "cloud", {}) for n in ("client1", "client2")]

    found = stragglers(events, [Step("client3", "upload", 8.0, 9.0, "cloud")])

    assert [s.row() for s in found] == [
        {
            "node": "client3",
            "rounds": 1,
            "last": 1,
            "on_critical_path": 1,
            "others_waited_seconds": 4.0,  # 5 and 3 s
            "server_waited_seconds": 3.0,
        },
        {
            "node": "client2",  # of two at the same moment the one with the later name
            "rounds": 2,
            "last": 1,
            "on_critical_path": 0,
            "others_waited_seconds": 0.0,
            "server_waited_seconds": 0.0,
        },
    ]


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        # 1.046 MB with the frames' heads take 5.58 s at 1.5 Mbit/s: half of that would be saved.
        (
            (1.0, 1.0, 7.0),
            "70 % of the time is the clients' uplinks to the cloud; at 3 Mbit/s "
            "the run would take 28 % less time.",
        ),
        (
            (4.0, 0.0, 5.0),
            "90 % of the time is the clients' links to the cloud; at twice the rate both ways "
            "the run would take 35 % less time.",
        ),
        (  # it takes 8 s, the other one 7
            (1.0, 7.0, 1.0),
            "80 % of the time is client2's computing; on devices twice as fast, "
            "all clients alike, the run would take 40 % less time.",
        ),
    ],
)
def test_the_sentence_names_the_largest_part_and_what_would_help(
    lengths: tuple[float, float, float], sentence: str
) -> None:
    found = _bottleneck(_round(*lengths), _plan(1.5 * MEGA, 6 * MEGA))

    assert found["sentence"] == sentence


def test_a_part_that_is_nobodys_in_particular_is_everybodys() -> None:
    first = _round(1.0, 7.0, 1.0, late="client1")
    second = [
        dataclasses.replace(
            e,
            start=e.start + 10,
            end=e.end + 10,
            round=2,
            local_round=e.local_round and e.local_round + 1,
        )
        for e in _round(1.0, 7.0, 1.0, late="client2")
    ]

    found = _bottleneck([*first, *second], _plan(100 * MEGA, 100 * MEGA))

    assert found["sentence"] == (
        "80 % of the time is the clients' computing; on devices twice as fast "
        "the run would take 40 % less time."
    )
    assert [row["on_critical_path"] for row in found["stragglers"]] == [1, 1]


def test_changes_are_tried_only_where_time_is_and_the_best_comes_first() -> None:
    found = _bottleneck(_round(0.05, 8.0, 0.95), _plan(20 * MEGA, 20 * MEGA, delay=0.01))

    assert [(what["place"], what["factors"]) for what in found["what_if"]] == [
        ("client", {"speed": 2.0}),
        ("client-cloud", {"rate_up": 2.0}),
        ("client-cloud", {"delay": 0.5}),
    ]


def test_a_run_that_finished_no_round_or_has_no_plan_has_none() -> None:
    events = _round(1.0, 1.0, 1.0)

    assert _bottleneck(events[:-1], star_plan(2)) == {}
    assert _bottleneck(events, None) == {}


def test_the_records_of_a_whole_run_are_understood(tmp_path: Path) -> None:
    run = FakeRun(tmp_path, rounds=3)

    found = _bottleneck(read_events(tmp_path / "events.jsonl"), run.plan)

    # client2: download 1 s, compute 16 s, upload 2 s; the aggregation 1 s of 20.
    assert found["by_phase"] == {"compute": 0.8, "upload": 0.1, "download": 0.05, "aggregate": 0.05}
    assert found["stragglers"][0]["node"] == "client2"
    assert found["stragglers"][0]["on_critical_path"] == 3
