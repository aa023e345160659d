"""What a scenario may say about handovers, links that change, outages, crashes and walking."""

from pathlib import Path
from typing import Any

import pytest

from netem import mobility
from scenarios import loader, planner
from scenarios.errors import BadInput
from scenarios.plan import Plan, Shape
from scenarios.schema import Link
from tests.scenario_trees import planned, star_scenario, tree_scenario
from tests.test_cells_topology import SHAPES, cells_scenario

# Three cells with a client alone in each (client1 to client3), and two in each overlap: client4
# and client5 hear cells 1 and 2, client6 and client7 cells 1 and 3, client8 and client9 2 and 3.
HANDOVER = {"at": "10s", "event": "handover", "client": "client1", "to": [2]}
LINK = {"at": "5s", "event": "link", "link": "client4-cell2", "profile": "3g"}
OUTAGE = {"at": 3, "event": "outage", "cell": 2, "until": "8s"}
CRASH = {"at": "4s", "event": "crash", "node": "client3"}
RESTART = {"at": "6s", "event": "restart", "node": "client3"}
WALK = {"model": "walk", "speed": 1.4, "dwell": "5s", "spacing": 200.0, "radius": 115.0}


def with_events(*events: dict[str, Any], protocol: str = "multicell", **topology: Any) -> Any:
    return cells_scenario(protocol, **topology) | {"timeline": list(events)}


def walking(protocol: str = "multicell", events: tuple[Any, ...] = (), **values: Any) -> Any:
    return with_events(*events, protocol=protocol) | {"mobility": WALK | values}


def plan_of(tree: dict[str, Any]) -> Plan:
    scenario = loader.check(tree)
    samples = [10] * scenario.topology.client_count
    return planner.plan(scenario, "run", "pool", samples, 1000, SHAPES, classes=9)


def refusal_of(tree: dict[str, Any]) -> str:
    with pytest.raises(BadInput) as caught:
        loader.check(tree)
    return str(caught.value)


# Without a timeline


def test_a_scenario_without_a_timeline_plans_nothing_of_it() -> None:
    plan = plan_of(cells_scenario())

    assert (plan.timeline, plan.walk, plan.moves) == ((), None, False)
    assert "visits" not in plan.topology_numbers
    assert all(node.visits == () for node in plan.nodes)
    assert plan.limits["patience"] is None


# Events in the plan


def test_events_are_planned_in_order_of_time_those_of_one_moment_as_written() -> None:
    at_once = CRASH | {"node": "client1", "at": "6s"}

    plan = plan_of(with_events(HANDOVER, RESTART, at_once, LINK, CRASH, OUTAGE))

    found = [(event["at"], event["event"]) for event in plan.timeline]
    assert found == [
        (3.0, "outage"),
        (4.0, "crash"),
        (5.0, "link"),
        (6.0, "restart"),
        (6.0, "crash"),
        (10.0, "handover"),
    ]
    assert plan.moves


def test_a_handover_names_edge_servers_and_how_the_links_change() -> None:
    held = {"to": [2, 1], "mode": "make-before-break", "hold": "200ms", "at": "1min"}

    plain, other = plan_of(with_events(HANDOVER, HANDOVER | held)).timeline

    assert plain == {
        "at": 10.0,
        "event": "handover",
        "client": "client1",
        "to": ["edge2"],
        "mode": "break-before-make",
        "interruption": 0.05,
        "hold": 0.0,
    }
    assert other["to"] == ["edge2", "edge1"]
    assert (other["at"], other["mode"], other["hold"]) == (60.0, "make-before-break", 0.2)


def test_a_method_that_shares_nothing_hands_over_to_the_first_cell_alone() -> None:
    plan = plan_of(with_events(HANDOVER | {"to": [3, 2]}, protocol="es-fl"))

    assert plan.timeline[0]["to"] == ["edge3"]
    assert [name for name, _ in plan.node("client1").visits] == ["edge3"]


def test_a_changed_link_has_the_shape_of_its_profile_with_its_own_keys_on_top() -> None:
    changed = LINK | {"rate": "2mbit"}

    (event,) = plan_of(with_events(changed)).timeline

    up, down = planner.shapes(Link(rate="2mbit", delay="60ms", jitter="10ms"))
    assert event["links"] == ["client4-cell2"]
    assert (Shape(**event["up"]), Shape(**event["down"])) == (up, down)
    assert event["profile"] == "3g"


def test_a_link_may_change_without_a_profile() -> None:
    changed = {"at": 1, "event": "link", "tier": "client-cloud", "rate": "1mbit", "delay": "8ms"}

    (event,) = planned(star_scenario(timeline=[changed])).timeline

    assert event["links"] == ["client1-wan", "client2-wan", "client3-wan"]
    assert (event["up"]["rate"], event["up"]["delay"], event["profile"]) == (1e6, 0.008, None)


def test_a_tier_has_the_links_of_visits_too_but_no_servers_attachment() -> None:
    change = {"at": 1, "event": "link", "tier": "client-edge", "profile": "lte"}

    plan = plan_of(with_events(HANDOVER, change))

    assert plan.timeline[0]["links"] == [link.name for link in plan.links if link.tier]
    assert "client1-cell2" in plan.timeline[0]["links"]


def test_an_outage_of_a_cell_is_one_of_all_its_clients_links() -> None:
    (event,) = plan_of(with_events(OUTAGE)).timeline

    clients = ("client2", "client4", "client5", "client8", "client9")
    assert event == {
        "at": 3.0,
        "until": 8.0,
        "event": "outage",
        "links": [f"{client}-cell2" for client in clients],
        "what": "cell2",
    }


def test_an_outage_may_be_one_links_own() -> None:
    outage = {"at": 1, "event": "outage", "link": "inst1-wan", "until": 2}

    (event,) = planned(tree_scenario(timeline=[outage])).timeline

    assert (event["links"], event["what"]) == (["inst1-wan"], "inst1-wan")


def test_edge_servers_without_a_cloud_may_crash_and_restart() -> None:
    crash, restart = CRASH | {"node": "edge2"}, RESTART | {"node": "edge2"}

    plan = plan_of(with_events(crash, restart))

    assert plan.timeline == (
        {"at": 4.0, "event": "crash", "node": "edge2"},
        {"at": 6.0, "event": "restart", "node": "edge2"},
    )


def test_a_node_may_crash_again_after_its_restart() -> None:
    again = (CRASH | {"at": "7s"}, RESTART | {"at": "9s"})

    assert len(plan_of(with_events(CRASH, RESTART, *again)).timeline) == 4


# Who may come to hear whom


def test_a_client_has_links_to_the_cells_of_its_handovers_after_its_own() -> None:
    plan = plan_of(with_events(HANDOVER, HANDOVER | {"at": "20s", "to": [1, 3]}))

    client = plan.node("client1")
    links = [link for link in plan.links if link.host == "client1"]
    assert [name for name, _ in client.servers] == ["edge1"]
    assert client.visits == (
        ("edge2", plan.node("edge2").addresses["cell2"]),
        ("edge3", plan.node("edge3").addresses["cell3"]),
    )
    assert [link.switch for link in links] == ["cell1", "cell2", "cell3"]
    assert {link.tier for link in links} == {"client-edge"}
    assert plan.topology_numbers["visits"] == [[1, 2]] + [[]] * 8
    assert plan.node("edge2").children == plan_of(cells_scenario()).node("edge2").children
    assert plan.server_across(links[1]) == plan.node("edge2")


def test_a_handover_to_cells_that_are_heard_anyway_needs_no_link() -> None:
    plan = plan_of(with_events(HANDOVER | {"client": "client4", "to": [2]}))

    assert plan.node("client4").visits == ()
    assert "visits" not in plan.topology_numbers


def test_an_overlap_client_of_a_lone_method_visits_the_cell_that_it_has_a_link_to() -> None:
    event = HANDOVER | {"client": "client4", "to": [2]}

    plan = plan_of(with_events(event, protocol="es-fl"))

    assert [name for name, _ in plan.node("client4").visits] == ["edge2"]
    assert "visits" not in plan.topology_numbers


def test_walking_clients_may_come_to_all_cells() -> None:
    plan = plan_of(walking())

    for node in (node for node in plan.nodes if node.role == "client"):
        assert {name for name, _ in (*node.servers, *node.visits)} == {"edge1", "edge2", "edge3"}
        assert set(node.addresses) == {"cell1", "cell2", "cell3"}
    assert plan.topology_numbers["visits"][:4] == [[1, 2], [0, 2], [0, 1], [2]]


def test_the_plan_says_how_clients_walk() -> None:
    plan = plan_of(walking(mode="make-before-break", hold="100ms") | {"seed": 7})

    assert plan.walk == {
        "speed": 1.4,
        "dwell": 5.0,
        "spacing": 200.0,
        "radius": 115.0,
        "mode": "make-before-break",
        "interruption": 0.05,
        "hold": 0.1,
        "seed": 7,
        "hears_all": True,
        "homes": [[0], [1], [2], [0, 1], [1, 0], [0, 2], [2, 0], [1, 2], [2, 1]],
    }
    assert plan.moves


def test_methods_are_compared_on_the_same_walk() -> None:
    shared, lone = plan_of(walking()).walk, plan_of(walking("es-fl")).walk

    assert shared is not None
    assert lone == shared | {"hears_all": False}


def test_clients_can_start_where_the_plan_says() -> None:
    walk = plan_of(walking()).walk

    assert walk is not None
    centres = mobility.centres(3, walk["spacing"])
    starts = mobility.starts(walk["homes"], centres, walk["radius"], walk["seed"])
    heard = [set(mobility.heard(start, centres, walk["radius"])) for start in starts]
    assert heard == [set(home) for home in walk["homes"]]


def test_patience_is_in_seconds() -> None:
    plan = planned(tree_scenario(limits={"patience": "1.5s"}))

    assert plan.limits["patience"] == 1.5


@pytest.mark.parametrize(
    "tree", [with_events(HANDOVER, LINK, OUTAGE, CRASH, RESTART), walking(events=(OUTAGE,))]
)
def test_a_plan_with_a_timeline_survives_its_way_into_the_guest(tree: dict[str, Any]) -> None:
    plan = plan_of(tree)

    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "tree",
    [
        with_events(HANDOVER, LINK, OUTAGE, CRASH, RESTART),
        with_events(LINK | {"rate_up": "1mbit", "delay": 0.5}),
        walking(events=(OUTAGE, CRASH)) | {"limits": {"patience": "2s"}},
        walking() | {"mobility": {}},
    ],
)
def test_the_resolved_scenario_loads_again_to_an_equal_one(
    tree: dict[str, Any], tmp_path: Path
) -> None:
    scenario = loader.check(tree)
    file = tmp_path / "scenario.toml"

    file.write_text(loader.dump(scenario))

    assert loader.load(str(file)) == scenario
    assert plan_of(loader.load(str(file)).model_dump(exclude_none=True)) == plan_of(tree)


# What is refused


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
        (LINK | {"link": "edge1-cell1"}, 'link: there is no link "edge1-cell1"; write it like '),
        (OUTAGE | {"cell": 4}, "cell: there is no cell 4; give 1 to 3"),
        (CRASH | {"node": "cell1"}, 'node: "cell1" cannot crash here; the clients are client1 to'),
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
        (CRASH | {"node": "cloud"}, 'timeline.1.node: "cloud" cannot crash here; '),
        (CRASH | {"node": "inst1"}, 'timeline.1.node: "inst1" cannot crash here; '),
        (
            {"at": 1, "event": "link", "tier": "client-cloud", "profile": "3g"},
            "timeline.1.tier: a tree has no such part; it has client-edge, edge-cloud",
        ),
    ],
)
def test_what_a_tree_does_not_have_is_refused(event: dict[str, Any], start: str) -> None:
    assert refusal_of(tree_scenario(timeline=[event])).startswith(start)


def test_an_edge_server_below_a_cloud_cannot_crash() -> None:
    tree = with_events(CRASH | {"node": "edge1"}, protocol="hierfavg", cloud=True)

    assert refusal_of(tree).startswith('timeline.1.node: "edge1" cannot crash here; the clients ')


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
