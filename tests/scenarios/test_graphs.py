"""Networks read from files: what they say, where their hosts are, and which way packets take."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from contracts.errors import BadInput
from contracts.paths import end_to_end
from contracts.plan import Plan
from netem import profiles
from scenarios import graph_files, loader
from scenarios.graph_files import Otherwise
from tests.support.scenario_trees import planned, tree_scenario
from tests.support.spoilt_scenarios import refusal_of

CLOUD = {"role": "cloud", "at": "Kansas City"}
WEST, EAST = {"role": "edge", "at": "Seattle"}, {"role": "edge", "at": "New York"}


def graph_scenario(*hosts: dict[str, Any], **more: Any) -> dict[str, Any]:
    topology = {"kind": "graph", "file": "abilene", "hosts": list(hosts), **more}
    if any(host["role"] == "edge" for host in hosts):
        return tree_scenario(topology=topology)
    links, devices = {"client-cloud": "lan"}, {"client": "phone", "cloud": "droplet-1gb"}
    return tree_scenario(topology=topology, links=links, devices=devices)


def written(folder: Path, text: str) -> Path:
    path = folder / "net.gml"
    path.write_text(text)
    return path


def triangle(**of_first: Any) -> dict[str, Any]:
    """Three nodes; from a to c it is 2 ms directly and 3 ms by b."""
    delays = {"a b": "1ms", "b c": "2ms", "a c": "2ms"}
    edges = [
        {"source": ends[0], "target": ends[2], "rate": "1gbit", "delay": delay}
        for ends, delay in delays.items()
    ]
    edges[0] |= of_first
    return {"nodes": [{"id": name} for name in "abc"], "edges": edges}


def ways(plan: Plan, link: str) -> list[str]:
    own = next(found for found in plan.links if found.name == link)
    return [hop.link.name for hop in plan.path(own)]


@pytest.mark.parametrize(("name", "routers", "trunks"), [("abilene", 11, 14), ("geant", 37, 56)])
def test_the_networks_that_come_with_metronome(name: str, routers: int, trunks: int) -> None:
    graph = graph_files.load(name)

    assert (len(graph.routers), len(graph.trunks)) == (routers, trunks)
    assert all(len(router) <= 15 for router in graph.routers.values())
    assert set(graph.places) == set(graph.routers.values())


def test_light_from_seattle_to_denver_takes_as_long_as_worked_out_by_hand() -> None:
    # 47.60621 N 122.33207 W to 39.73915 N 104.98470 W: 1641 km, at 200 km a millisecond.
    (trunk,) = (
        trunk
        for trunk in graph_files.load("abilene").trunks
        if (trunk.first, trunk.second) == ("seattle", "denver")
    )

    assert trunk.there.delay == pytest.approx(0.008205, abs=5e-6)
    assert trunk.there.rate == "9953mbit"


def test_hosts_are_at_their_nodes_and_clients_beside_their_institution() -> None:
    far = {"role": "client", "at": "Denver", "parent": "inst1"}
    plan = planned(graph_scenario(CLOUD, WEST, EAST, far, clients_per_institution=2))

    assert [node.name for node in plan.nodes if node.parent == "inst1"] == [
        "client1",
        "client2",
        "client3",
    ]
    assert ways(plan, "client1-lan1") == ["client1-lan1", "inst1-lan1"]
    assert ways(plan, "client3-denver") == ["client3-denver", "seattle-denver", "inst1-seattle"]
    assert ways(plan, "inst1-seattle") == [
        "inst1-seattle",
        "seattle-denver",
        "denver-kansascity",
        "cloud-kansascity",
    ]
    far_away = next(link for link in plan.links if link.name == "inst1-seattle")
    path = end_to_end(plan.path(far_away))
    assert path is not None
    trunks = {trunk.name: trunk for trunk in plan.trunks}
    between = [trunks[name].up for name in ("seattle-denver", "denver-kansascity")]
    assert path[0].delay == pytest.approx(0.020 + sum(way.delay for way in between if way))


def test_without_institutions_the_cloud_is_everybodys_server() -> None:
    plan = planned(graph_scenario(CLOUD, {"role": "client", "at": "Chicago", "count": 3}))

    assert [node.parent for node in plan.nodes] == [None, "cloud", "cloud", "cloud"]
    assert {link.tier for link in plan.links} == {None, "client-cloud"}


def test_a_plan_with_a_graph_reads_back_as_it_was() -> None:
    plan = planned(graph_scenario(CLOUD, WEST, clients_per_institution=1))

    again = Plan.from_json(plan.to_json())

    assert again.trunks == plan.trunks
    assert again.routes == plan.routes


def test_the_shortest_way_by_delay_is_the_same_in_both_directions(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps(triangle()))
    hosts = [{"role": "cloud", "at": "a"}, {"role": "client", "at": "c"}]
    direct = planned(graph_scenario(*hosts, file=str(path)))
    path.with_name("far.json").write_text(json.dumps(triangle(delay="0.1ms")))
    around = planned(graph_scenario(*hosts, file=str(path.with_name("far.json"))))

    assert ways(direct, "client1-c") == ["client1-c", "a-c", "cloud-a"]
    assert direct.routes["a"]["c"] == "c" and direct.routes["c"]["a"] == "a"
    assert ways(around, "client1-c") == ["client1-c", "a-c", "cloud-a"]
    assert around.routes["b"] == {"a": "a", "c": "c"}  # hosts are at a and c


def test_shadows_names_are_understood_and_loops_left_out(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "graph [ directed 0 node [ id 0 ] node [ id 1 ] "
        'edge [ source 0 target 0 latency "1 ms" packet_loss 0.0 ] '
        'edge [ source 0 target 1 latency "10 ms" jitter "1 ms" packet_loss 0.25 ] ]',
    )

    graph = graph_files.load(str(path), Otherwise(rate="1gbit"))

    (trunk,) = graph.trunks
    assert (trunk.there.rate, trunk.there.delay, trunk.there.loss) == ("1gbit", "10ms", 0.25)
    assert trunk.there.jitter == "1ms"


def test_edges_side_by_side_are_one_with_all_their_rates(tmp_path: Path) -> None:
    edge = 'edge [ source 0 target 1 rate "10mbit" delay "1ms" ] '
    path = written(tmp_path, f"graph [ multigraph 1 node [ id 0 ] node [ id 1 ] {edge}{edge}]")

    (trunk,) = graph_files.load(str(path)).trunks

    assert trunk.there.rate == "20000000bit"


def test_what_files_of_the_topology_zoo_leave_unsaid(tmp_path: Path) -> None:
    # Two nodes of one label, edges side by side in a graph that is not called a multigraph, a rate
    # that the kernel cannot shape, none at all, and a node that is on no map.
    tokyo, osaka = "Latitude 35.6 Longitude 139.6", "Latitude 34.7 Longitude 135.5"
    path = written(
        tmp_path,
        f"""graph [ label "Backbone"
        node [ id 0 label "Tokyo DC" {tokyo} ] node [ id 1 label "Tokyo DC" {tokyo} ]
        node [ id 2 label "Osaka" {osaka} ] node [ id 3 label "China" ]
        edge [ source 0 target 1 LinkSpeedRaw 40000000000.0 ]
        edge [ source 1 target 2 LinkSpeedRaw 10000000000.0 ]
        edge [ source 1 target 2 LinkSpeedRaw 1000000000.0 ]
        edge [ source 2 target 3 LinkType "STM-4" ] ]""",
    )

    graph = graph_files.load(str(path), Otherwise(rate="622mbit", delay="20ms"))

    assert graph.routers == {
        "Tokyo DC (0)": "tokyodc0",
        "Tokyo DC (1)": "tokyodc1",
        "Osaka": "osaka",
        "China": "china",
    }
    assert [trunk.there.rate for trunk in graph.trunks] == [
        "30000000000bit",
        "11000000000bit",
        "622mbit",
    ]
    assert [trunk.there.delay for trunk in graph.trunks] == [
        0.0,
        pytest.approx(0.0019, 0.05),
        "20ms",
    ]


def test_a_graph_of_a_thousand_nodes_is_planned_with_the_routes_that_hosts_need(
    tmp_path: Path,
) -> None:
    edges = [
        {"source": number // 2, "target": number, "rate": "1gbit", "delay": "1ms", "weight": "x"}
        for number in range(1, 1000)
    ]
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"nodes": [{"id": n} for n in range(1000)], "edges": edges}))

    plan = planned(
        graph_scenario(
            {"role": "cloud", "at": "0"}, {"role": "client", "at": "999"}, file=str(path)
        )
    )

    assert len(ways(plan, "client1-r999")) == 2 + 9 + 1
    assert set(plan.routes["r5"]) == {"r0", "r999"}
    assert len(plan.to_json()) < 1e6


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("graph [ node [ id 0 ] node [ id 1 ] ]", 'is not connected, "0" cannot be reached'),
        (
            "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 delay 0.1 ] ]",
            'the edge from "0" to "1" has no rate; add one, or set topology.rate',
        ),
        (
            'graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 rate "1mbit" ] ]',
            "has no delay; add one, the nodes' Latitude and Longitude, or topology.delay",
        ),
        (
            'graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 rate "x" delay 0 ] ]',
            'the edge from "0" to "1": ',
        ),
        ("graph [ ]", "has no nodes"),
        ("graph [ node 5 ]", "is not a graph"),
        ('{"nodes": [1, 2], "edges": []}', "is not a graph"),
        (
            '{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "Bb"}]}',
            "an edge ends at a node that is not in its list of nodes",
        ),
        ("not a graph", "is not a graph"),
        (json.dumps({"nodes": [{"id": number} for number in range(2001)], "edges": []}),
         "has 2001 nodes; give a graph of at most 2000"),
        ("{}", "is not a graph"),
    ],
)  # fmt: skip
def test_a_bad_graph_gets_one_sentence(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)

    with pytest.raises(BadInput) as refused:
        graph_files.load(str(path))

    assert str(refused.value).startswith(str(path))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("tree", "start", "remedy"),
    [
        (
            graph_scenario(CLOUD, WEST | {"at": "Seatle"}, clients_per_institution=1),
            'topology.hosts.2.at: there is no node "Seatle"',
            'did you mean "Seattle"?',
        ),
        (graph_scenario(WEST, clients_per_institution=1), "topology: ", 'role = "cloud"'),
        (
            graph_scenario(CLOUD, WEST | {"count": 300}, clients_per_institution=1),
            "topology: 300 institutions",
            "250 at most",
        ),
        (
            graph_scenario(CLOUD, {"role": "client", "at": "Denver"}, clients_per_institution=1),
            "topology: clients_per_institution: there are none",
            'add hosts of role "edge"',
        ),
        (
            graph_scenario(CLOUD, WEST, {"role": "client", "at": "Denver"}),
            "topology.hosts.3: 0 institutions are at Denver",
            'parent = "inst1"',
        ),
        (
            graph_scenario(CLOUD, WEST, {"role": "client", "at": "Denver", "parent": "inst7"}),
            'topology.hosts.3.parent: there is no "inst7"',
            'did you mean "inst1"?',
        ),
        (
            graph_scenario(CLOUD, WEST, file="abilen", clients_per_institution=1),
            'topology.file: "abilen" is neither',
            "abilene",
        ),
        (
            graph_scenario(CLOUD, WEST, EAST, {"role": "client", "at": "Seattle"}),
            "topology: inst2 would serve nobody",
            "topology.hosts",
        ),
    ],
)
def test_hosts_that_fit_nowhere_are_refused(tree: dict[str, Any], start: str, remedy: str) -> None:
    def planning(tree: dict[str, Any]) -> str:
        with pytest.raises(BadInput) as refused:
            planned(tree)
        return str(refused.value)

    sentence = refusal_of(tree) if "nobody" not in start else planning(tree)

    assert sentence.startswith(start)
    assert remedy in sentence


def test_links_that_are_shared_stay_as_they_are() -> None:
    client = {"role": "client", "at": "Chicago"}
    tree = graph_scenario(CLOUD, client)
    tree["timeline"] = [{"at": "1s", "event": "outage", "until": "2s", "link": "seattle-denver"}]

    sentence = refusal_of(tree)

    assert sentence.startswith("timeline.1.link: seattle-denver is not one host's own")


def test_names_that_others_have_are_not_given_to_routers(tmp_path: Path) -> None:
    nodes = [{"id": name} for name in ("wan", "lo", "client1", "Wan")]
    edges = [
        {"source": one, "target": other, "rate": "1mbit", "delay": "1ms"}
        for one, other in (("wan", "lo"), ("lo", "client1"), ("client1", "Wan"))
    ]
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))

    names = list(graph_files.load(str(path)).routers.values())

    assert names == ["wanx2", "lox2", "client1x2", "wanx3"]


def test_a_file_is_found_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "net.json").write_text(json.dumps(triangle()))
    tree = graph_scenario({"role": "cloud", "at": "a"}, {"role": "client", "at": "c"})
    tree["topology"]["file"] = "net.json"
    (tmp_path / "own.toml").write_text(tomli_w.dumps(tree))

    assert loader.load(str(tmp_path / "own.toml")).topology.file == str(tmp_path / "net.json")


def test_the_library_names_both_networks() -> None:
    assert set(profiles.graphs()) == {"abilene", "geant"}
    assert {"abilene", "geant", "shared-uplink", "shared-air"} <= set(loader.library())
