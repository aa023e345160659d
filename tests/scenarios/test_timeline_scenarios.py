"""What a scenario may say about handovers, links that change, outages, crashes and walking."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.plan import Plan
from contracts.timeline import (
    CrashEvent,
    HandoverEvent,
    LinkChangeEvent,
    OutageEvent,
    RestartEvent,
    Walk,
)
from netem import mobility
from scenarios import link_shapes, loader
from scenarios.sections import Link
from tests.scenarios.test_cells_topology import cells_scenario
from tests.support.scenario_trees import planned, star_scenario, tree_scenario
from tests.support.timelines import (
    CRASH,
    HANDOVER,
    LINK,
    OUTAGE,
    RESTART,
    plan_of,
    walking,
    with_events,
)

# Without a timeline


def test_a_scenario_without_a_timeline_plans_nothing_of_it() -> None:
    plan = plan_of(cells_scenario())

    assert (plan.timeline, plan.walk, plan.moves) == ((), None, False)
    assert "visits" not in plan.topology_numbers
    assert all(node.visits == () for node in plan.nodes)
    assert plan.limits.patience is None


# Events in the plan


def test_events_are_planned_in_order_of_time_those_of_one_moment_as_written() -> None:
    at_once = CRASH | {"node": "client1", "at": "6s"}

    plan = plan_of(with_events(HANDOVER, RESTART, at_once, LINK, CRASH, OUTAGE))

    found = [(event.at, event.event) for event in plan.timeline]
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

    assert plain == HandoverEvent(
        at=10.0,
        client="client1",
        to=("edge2",),
        mode="break-before-make",
        interruption=0.05,
        hold=0.0,
    )
    assert isinstance(other, HandoverEvent)
    assert other.to == ("edge2", "edge1")
    assert (other.at, other.mode, other.hold) == (60.0, "make-before-break", 0.2)


def test_a_method_that_shares_nothing_hands_over_to_the_first_cell_alone() -> None:
    plan = plan_of(with_events(HANDOVER | {"to": [3, 2]}, protocol="es-fl"))

    (event,) = plan.timeline
    assert isinstance(event, HandoverEvent)
    assert event.to == ("edge3",)
    assert [name for name, _ in plan.node("client1").visits] == ["edge3"]


def test_a_changed_link_has_the_shape_of_its_profile_with_its_own_keys_on_top() -> None:
    changed = LINK | {"rate": "2mbit"}

    (event,) = plan_of(with_events(changed)).timeline

    up, down = link_shapes.shapes(Link(rate="2mbit", delay="60ms", jitter="10ms"))
    links = ("client4-cell2",)
    assert event == LinkChangeEvent(at=5.0, links=links, up=up, down=down, profile="3g")


def test_a_link_may_change_without_a_profile() -> None:
    changed = {"at": 1, "event": "link", "tier": "client-cloud", "rate": "1mbit", "delay": "8ms"}

    (event,) = planned(star_scenario(timeline=[changed])).timeline

    assert isinstance(event, LinkChangeEvent)
    assert event.links == ("client1-wan", "client2-wan", "client3-wan")
    assert (event.up.rate, event.up.delay, event.profile) == (1e6, 0.008, None)


def test_a_tier_has_the_links_of_visits_too_but_no_servers_attachment() -> None:
    change = {"at": 1, "event": "link", "tier": "client-edge", "profile": "lte"}

    plan = plan_of(with_events(HANDOVER, change))

    event = plan.timeline[0]
    assert isinstance(event, LinkChangeEvent)
    assert event.links == tuple(link.name for link in plan.links if link.tier)
    assert "client1-cell2" in event.links


def test_an_outage_of_a_cell_is_one_of_all_its_clients_links() -> None:
    (event,) = plan_of(with_events(OUTAGE)).timeline

    clients = ("client2", "client4", "client5", "client8", "client9")
    links = tuple(f"{client}-cell2" for client in clients)
    assert event == OutageEvent(at=3.0, until=8.0, links=links, what="cell2")


def test_an_outage_may_be_one_links_own() -> None:
    outage = {"at": 1, "event": "outage", "link": "inst1-wan", "until": 2}

    (event,) = planned(tree_scenario(timeline=[outage])).timeline

    assert event == OutageEvent(at=1.0, until=2.0, links=("inst1-wan",), what="inst1-wan")


def test_edge_servers_without_a_cloud_may_crash_and_restart() -> None:
    crash, restart = CRASH | {"node": "edge2"}, RESTART | {"node": "edge2"}

    plan = plan_of(with_events(crash, restart))

    assert plan.timeline == (
        CrashEvent(at=4.0, node="edge2"),
        RestartEvent(at=6.0, node="edge2"),
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

    assert plan.walk == Walk(
        speed=1.4,
        dwell=5.0,
        spacing=200.0,
        radius=115.0,
        mode="make-before-break",
        interruption=0.05,
        hold=0.1,
        seed=7,
        hears_all=True,
        homes=((0,), (1,), (2,), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)),
    )
    assert plan.moves


def test_methods_are_compared_on_the_same_walk() -> None:
    shared, lone = plan_of(walking()).walk, plan_of(walking("es-fl")).walk

    assert shared is not None
    assert lone == replace(shared, hears_all=False)


def test_clients_can_start_where_the_plan_says() -> None:
    walk = plan_of(walking()).walk

    assert walk is not None
    centres = mobility.centres(3, walk.spacing)
    starts = mobility.starting_points(walk.homes, centres, walk.radius, walk.seed)
    heard = [set(mobility.cells_heard(start, centres, walk.radius)) for start in starts]
    assert heard == [set(home) for home in walk.homes]


def test_patience_is_in_seconds() -> None:
    plan = planned(tree_scenario(limits={"patience": "1.5s"}))

    assert plan.limits.patience == 1.5


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
