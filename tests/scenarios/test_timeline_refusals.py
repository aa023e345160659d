"""What a scenario may not say about handovers, links that change, outages, crashes and walking."""

from typing import Any

import pytest

from tests.scenarios.test_cells_topology import cells_scenario
from tests.support.scenario_trees import tree_scenario
from tests.support.spoilt_scenarios import refusal_of
from tests.support.timelines import (
    CRASH,
    HANDOVER,
    LINK,
    OUTAGE,
    RESTART,
    WALK,
    plan_of,
    walking,
    with_events,
)


@pytest.mark.parametrize(
    ("event", "start"),
    [
        ({"at": 1}, "event: missing; known: crash, handover, link, outage, restart"),
        ({"at": 1, "event": "outrage"}, 'event: unknown event "outrage"; did you mean "outage"?'),
        ({"at": 1, "event": 3}, 'event: unknown event "3"; known: '),
        (HANDOVER | {"at": -1}, "at: -1.0 is not a time; it must be finite and not negative"),
        (HANDOVER | {"at": "soon"}, 'at: "soon" is not understood; write it like "10ms"'),
        (HANDOVER | {"clint": "client1"}, 'clint: unknown key; did you mean "client"?'),
        ({"event": "crash", "node": "client1"}, "at: missing; add this key"),
        (HANDOVER | {"client": "client10"}, 'client: there is no "client10"; the clients are '),
        (HANDOVER | {"client": "edge1"}, 'client: there is no "edge1"; the clients are client1 to'),
        (HANDOVER | {"to": [4]}, "to: [4] are not different cells of 3; give numbers from 1 to 3"),
        (HANDOVER | {"to": [2, 2]}, "to: [2, 2] are not different cells of 3; "),
        (HANDOVER | {"to": [1, 0]}, "to.2: input should be greater than or equal to 1 (given: 0)"),
        (HANDOVER | {"to": []}, "to: list should have at least 1 item"),
        (HANDOVER | {"mode": "make"}, "mode: input should be 'break-before-make' or "),
        (LINK | {"profile": "4gg"}, 'profile: unknown profile "4gg"; '),
        (LINK | {"rat": "2mbit"}, 'rat: unknown key; did you mean "rate"?'),
        (LINK | {"rate": 20}, 'rate: "20" has no unit; write it like "20mbit"'),
        (LINK | {"link": "client1-cell2"}, 'link: there is no link "client1-cell2"; did you mean '),
        (LINK | {"link": "cell2"}, 'link: there is no link "cell2"; write it like "client1-cell1"'),
        (
            LINK | {"link": "edge1-cell1"},
            "link: edge1-cell1 is not one host's own, and stays as it is",
        ),
        (OUTAGE | {"cell": 4}, "cell: there is no cell 4; give 1 to 3"),
        (CRASH | {"node": "cell1"}, 'node: there is no "cell1"; the clients are client1 to'),
    ],
)
def test_a_mistake_in_an_event_is_named_with_its_place(event: dict[str, Any], start: str) -> None:
    assert refusal_of(with_events(OUTAGE, event)).startswith(f"timeline.2.{start}")


@pytest.mark.parametrize(
    ("event", "start"),
    [
        (HANDOVER | {"hold": "1s"}, "nothing is held after a break; use mode = "),
        (LINK | {"tier": "client-edge"}, 'give either link (like "client1-cell1") or tier'),
        ({"at": 1, "event": "link", "profile": "3g"}, "give either link "),
        ({"at": 1, "event": "link", "tier": "client-edge"}, "nothing is said about the link; "),
        (LINK | {"rate": "1mbit", "rate_up": "2mbit"}, "give either rate, or rate_up and"),
        (OUTAGE | {"link": "client4-cell2"}, "give either link "),
        ({"at": 1, "event": "outage", "until": 2}, "give either link "),
        (OUTAGE | {"at": "3s", "until": 3}, 'until "3.0" is not after at "3s"; give a later time'),
        (RESTART, "client3 is not down at that time; let it crash before"),
    ],
)
def test_what_an_event_contradicts_is_refused(event: dict[str, Any], start: str) -> None:
    assert refusal_of(with_events(OUTAGE, event)).startswith(f"timeline.2: {start}")


@pytest.mark.parametrize(
    ("events", "start"),
    [
        ([CRASH | {"at": "7s"}, RESTART], "timeline.2: client3 is not down at that time"),
        ([CRASH, RESTART | {"at": "4s"}], "timeline.2: client3 is not down at that time"),
        ([CRASH, RESTART | {"node": "client2"}], "timeline.2: client2 is not down at that time"),
        ([CRASH, RESTART, RESTART | {"at": 9}], "timeline.3: client3 is not down at that time"),
        ([CRASH | {"at": "5s"}, CRASH], "timeline.1: client3 is down already; restart it before"),
    ],
)
def test_crashes_and_restarts_take_turns(events: list[dict[str, Any]], start: str) -> None:
    assert refusal_of(with_events(*events)).startswith(start)


@pytest.mark.parametrize("timeline", [{}, "soon", [3], {"at": 1}])
def test_a_timeline_is_a_list_of_tables(timeline: Any) -> None:
    sentence = refusal_of(cells_scenario() | {"timeline": timeline})

    assert sentence == "timeline: must be a list of tables, each under [[timeline]]"


@pytest.mark.parametrize(
    ("before", "after", "remedy"),
    [
        ("wifi", {"delay": "5ms"}, "a rate before and after, or never; give both"),
        ({"delay": "5ms"}, {"profile": "3g"}, "this event a rate"),
        ("wifi", {"rate": "1mbit"}, "this event a delay"),
        (
            {"rate": "1mbit"},
            {"profile": "3g"},
            "links.client-edge and this event a delay",
        ),
        ("ideal", {"profile": "3g"}, "this event a rate"),
    ],
)
def test_a_link_keeps_what_its_queues_can_do(before: Any, after: Any, remedy: str) -> None:
    for target in ({"link": "client4-cell2"}, {"tier": "client-edge"}):
        tree = with_events({"at": 1, "event": "link"} | target | after)
        tree["links"] = {"client-edge": before}

        sentence = refusal_of(tree)

        assert sentence.startswith("timeline.1: a link changes in place")
        assert remedy in sentence


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("wifi", {"rate": "1mbit", "loss": "1%"}),
        ({"rate": "1mbit"}, {"rate": "2mbit"}),
        ({"delay": "1ms"}, {"delay": "2ms", "jitter": "1ms"}),
    ],
)
def test_a_link_with_the_same_queues_may_change(before: Any, after: Any) -> None:
    tree = with_events({"at": 1, "event": "link", "tier": "client-edge"} | after)
    tree["links"] = {"client-edge": before}

    assert len(plan_of(tree).timeline) == 1


@pytest.mark.parametrize(
    ("event", "start"),
    [
        (HANDOVER, "timeline.1.event: a handover needs cells; "),
        (OUTAGE, "timeline.1.cell: a tree has no cells; name a link instead"),
        (CRASH | {"node": "cloud"}, "timeline.1: cloud would never end its rounds; add its re"),
        (CRASH | {"node": "edge1"}, 'timeline.1.node: there is no "edge1"; the clients are '),
        (
            {"at": 1, "event": "link", "tier": "client-cloud", "profile": "3g"},
            "timeline.1.tier: a tree has no such part; it has client-edge, edge-cloud",
        ),
    ],
)
def test_what_a_tree_does_not_have_is_refused(event: dict[str, Any], start: str) -> None:
    assert refusal_of(tree_scenario(timeline=[event])).startswith(start)


def test_an_edge_server_below_a_cloud_may_crash_for_good() -> None:
    crash = CRASH | {"node": "edge1"}

    assert len(plan_of(with_events(crash, protocol="hierfavg", cloud=True)).timeline) == 1
    assert refusal_of(with_events(crash)).startswith("timeline.1: edge1 would never end its rounds")


@pytest.mark.parametrize(
    ("tree", "start"),
    [
        (tree_scenario(mobility=WALK), "mobility: clients move between cells; "),
        (walking(events=(OUTAGE, HANDOVER)), "timeline.2: with [mobility] handovers come from"),
        (walking(radius=95.0), "mobility: there is no place for client4 where it hears cell1 and"),
        (walking(radius=-1), "mobility.radius: input should be greater than"),
        (walking(speed=0), "mobility.speed: input should be greater than"),
        (walking(speeed=1.4), 'mobility.speeed: unknown key; did you mean "speed"?'),
        (walking(model="fly"), "mobility.model: input should be 'walk'"),
        (walking(hold="1s"), "mobility: nothing is held after a break"),
        (cells_scenario() | {"mobility": "walk"}, "mobility: must be a table"),
        (tree_scenario(limits={"patience": "0s"}), "limits.patience: "),
        (tree_scenario(limits={"patience": "30min"}), "limits: patience "),
    ],
)
def test_clients_that_cannot_walk_are_refused(tree: dict[str, Any], start: str) -> None:
    sentence = refusal_of(tree)

    assert sentence.startswith(start)
    assert "; " in sentence, "no remedy"


def test_more_links_than_linux_has_names_for_are_refused() -> None:
    tree = walking()
    tree["topology"] = {"kind": "cells", "cells": 11, "alone": 100}
    tree["task"] |= {"classes": 11}

    assert refusal_of(tree).startswith("topology: client1000 would have 11 links, more than Linux")
