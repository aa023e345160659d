"""What a scenario may not say: each refused in a sentence with the place and the remedy."""

from pathlib import Path
from typing import Any

import pytest

from scenarios import loader, toml_trees
from scenarios.schema import MOST_CLIENTS
from tests.support.scenario_trees import star_scenario, tree_scenario
from tests.support.spoilt_scenarios import changed, link, refusal_of, refusal_of_loading


@pytest.mark.parametrize(
    ("tree", "place", "remedy"),
    [
        (changed("task", modle="lenet5"), "task.modle", 'did you mean "model"?'),
        (changed("links", **{"edge-cloud": {"rat": "2mbit"}}), "links.edge-cloud.rat", '"rate"?'),
        (changed("devices", edge={"memory": "1gb", "sped": 1}), "devices.edge.sped", '"speed"?'),
        (tree_scenario(sede=3), "sede", 'did you mean "seed"?'),
        (tree_scenario(limits={"jion": "1s"}), "limits.jion", 'did you mean "join"?'),
        (changed("task", zebra=1), "task.zebra", "known: batch_size, classes, concentration"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    tree: dict[str, Any], place: str, remedy: str
) -> None:
    sentence = refusal_of(tree)

    assert sentence.startswith(f"{place}: unknown key; ")
    assert remedy in sentence


@pytest.mark.parametrize(
    ("tree", "start"),
    [
        (changed("task", dataset="fashionmnits"), 'task.dataset: unknown data set "fashionmnits"'),
        (changed("task", model="lenet"), 'task.model: unknown model "lenet"'),
        (changed("task", partition="random"), 'task.partition: unknown partition "random"'),
        (changed("protocol", name="fedavgg"), 'protocol.name: unknown protocol "fedavgg"'),
        (changed("links", **{"edge-cloud": "5gg"}), 'links.edge-cloud: unknown profile "5gg"'),
        (link(profile="wif", rate="1mbit"), 'links.edge-cloud: unknown profile "wif"'),
        (link(profile=["wifi"]), "links.edge-cloud: unknown profile"),
        (changed("devices", client="pone"), 'devices.client: unknown profile "pone"'),
    ],
)
def test_an_unknown_name_is_named_with_a_known_one(tree: dict[str, Any], start: str) -> None:
    sentence = refusal_of(tree)

    assert sentence.startswith(start)
    assert "did you mean" in sentence or "known: " in sentence


@pytest.mark.parametrize(
    ("tree", "place", "what"),
    [
        (
            changed("topology", institutions=0),
            "topology.institutions",
            "greater than or equal to 1",
        ),
        (
            changed("topology", institutions=251),
            "topology.institutions",
            "less than or equal to 250",
        ),
        (changed("topology", clients_per_institution=0), "topology.clients_per_institution", "1"),
        (star_scenario(clients=0), "topology.clients", "greater than or equal to 1"),
        (star_scenario(clients=MOST_CLIENTS + 1), "topology", "at most 4000"),
        (changed("topology", institutions=100, clients_per_institution=41), "topology", "4000"),
        (changed("protocol", rounds=0), "protocol.rounds", "greater than or equal to 1"),
        (changed("protocol", edge_rounds=0), "protocol", "must be at least 1"),
        (changed("task", learning_rate=-1.0), "task.learning_rate", "greater than 0"),
        (changed("task", learning_rate=float("inf")), "task.learning_rate", "finite"),
        (changed("task", samples_per_client=0), "task.samples_per_client", "equal to 1"),
        (changed("task", sorted_by_class=True), "task", "sorted_by_class has no effect"),
        (tree_scenario(seed=-1), "seed", "greater than or equal to 0"),
        (link(rate="-2mbit"), "links.edge-cloud.rate", '"-2mbit" is not understood'),
        (link(rate="0mbit"), "links.edge-cloud.rate", "above zero"),
        (link(rate="20"), "links.edge-cloud.rate", 'write it like "20mbit"'),
        (link(rate="100gbit"), "links.edge-cloud.rate", "from 1kbit to 30gbit"),
        (link(rate="9bit"), "links.edge-cloud.rate", "from 1kbit to 30gbit"),
        (link(delay="-1ms"), "links.edge-cloud.delay", 'write it like "10ms"'),
        (link(delay=-1), "links.edge-cloud.delay", "not negative"),
        (link(delay="5min"), "links.edge-cloud.delay", "at most 100s"),
        (link(delay="1ms", jitter="2ms"), "links.edge-cloud", "jitter must not exceed delay"),
        (link(loss="101%"), "links.edge-cloud.loss", "between 0 and 1"),
        (link(queue=0), "links.edge-cloud.queue", "greater than or equal to 1"),
        (link(rate="1mbit", rate_up="2mbit", rate_down="2mbit"), "links.edge-cloud", "either rate"),
        (link(rate_up="2mbit"), "links.edge-cloud", "rate_up and rate_down belong together"),
        (changed("devices", edge={"speed": 0, "memory": "1gb"}), "devices.edge.speed", "than 0"),
        (
            changed("devices", edge={"speed": 1, "memory": "0gb"}),
            "devices.edge.memory",
            "above zero",
        ),
        (
            changed("devices", edge={"speed": 1, "memory": "1e999gb"}),
            "devices.edge.memory",
            "large",
        ),
        (tree_scenario(limits={"round": "0s"}), "limits.round", "above zero"),
        (tree_scenario(limits={"quorum": 1.5}), "limits.quorum", "less than or equal to 1"),
        (tree_scenario(limits={"message": -1}), "limits.message", "above zero"),
    ],
)
def test_an_impossible_number_is_refused(tree: dict[str, Any], place: str, what: str) -> None:
    sentence = refusal_of(tree)

    assert sentence.startswith(f"{place}: ")
    assert what in sentence


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        (tree_scenario(links=["wifi"]), "links"),
        (tree_scenario(links="wifi"), "links"),
        (tree_scenario(devices=3), "devices"),
        (tree_scenario(task="learn"), "task"),
        (changed("links", **{"edge-cloud": 20}), "links.edge-cloud"),
        (changed("links", **{"edge-cloud": ["wifi", "lte"]}), "links.edge-cloud"),
        (link(rate=20), "links.edge-cloud.rate"),
        (link(delay=[1]), "links.edge-cloud.delay"),
        (link(delay=True), "links.edge-cloud.delay"),
        (changed("task", batch_size="10"), "task.batch_size"),
        (changed("task", batch_size=2.5), "task.batch_size"),
        (changed("task", shuffle="yes"), "task.shuffle"),
        (changed("protocol", rounds=True), "protocol.rounds"),
        (changed("protocol", local_epochs="2"), "protocol.local_epochs"),
        (changed("protocol", local_epochs=True), "protocol.local_epochs"),
        (changed("protocol", name=3), "protocol.name"),
        (tree_scenario(clock="fast"), "clock"),
        (tree_scenario(name="../elsewhere"), "name"),
        (tree_scenario(name=""), "name"),
    ],
)
def test_a_wrong_type_is_refused_not_converted(tree: dict[str, Any], place: str) -> None:
    sentence = refusal_of(tree)

    assert sentence.startswith(f"{place}: ")
    assert "; " in sentence, "no remedy"


@pytest.mark.parametrize("section", ["name", "task", "protocol", "topology"])
def test_a_missing_section_is_named(section: str) -> None:
    tree = tree_scenario()
    del tree[section]

    assert refusal_of(tree).startswith(f"{section}: missing; add this key")


@pytest.mark.parametrize(("section", "key"), [("links", "client-edge"), ("devices", "client")])
def test_a_missing_table_is_named_by_the_part_the_topology_needs(section: str, key: str) -> None:
    tree = tree_scenario()
    del tree[section]

    assert refusal_of(tree).startswith(f"{section}.{key}: missing; a tree needs it")


@pytest.mark.parametrize(
    ("tree", "start"),
    [
        (
            changed("links", **{"client-cloud": "lte"}),
            "links.client-cloud: a tree has no such part",
        ),
        (
            star_scenario(links={"edge-cloud": "lte"}),
            "links.client-cloud: missing; a star needs it",
        ),
        (
            star_scenario(devices={"client": "phone", "edge": "phone", "cloud": "phone"}),
            "devices.edge: a star has no such part; it has client, cloud",
        ),
        (changed("links", **{"edge-sky": "lte"}), "links.edge-sky: "),
        (changed("topology", clients=3), 'topology: a tree has no "clients"; use institutions'),
        (
            star_scenario(topology={"kind": "star", "institutions": 2}),
            'topology: a star has no "institutions"; use clients',
        ),
        (star_scenario(topology={"kind": "star"}), 'topology: a star needs "clients"'),
        (changed("topology", kind="ring"), "topology.kind: "),
        (changed("task", partition="dirichlet"), "task.concentration: missing; a dirichlet"),
    ],
)
def test_what_does_not_fit_the_topology_is_refused(tree: dict[str, Any], start: str) -> None:
    assert refusal_of(tree).startswith(start)


def test_a_setting_the_protocol_does_not_have_is_refused_with_the_nearest() -> None:
    sentence = refusal_of(changed("protocol", local_epoch=2))

    assert sentence.startswith('protocol.local_epoch: protocol "fedavg" has no such setting; ')
    assert 'did you mean "local_epochs"?' in sentence


def test_misspelled_toml_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('name = "bad"\n[task\n')

    sentence = refusal_of_loading(str(file))

    assert sentence.startswith(f"{file}: not valid TOML (")
    assert "line 2" in sentence


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(b'name = "\xff\xfe"')

    assert refusal_of_loading(str(file)).startswith(f"{file}: not valid TOML (")


def test_a_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "closed.toml"
    file.write_text(loader.dump(loader.check(tree_scenario())))

    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(toml_trees, "read_regular", refuse)

    sentence = refusal_of_loading(str(file))

    assert sentence == f"{file}: cannot be read (Permission denied); check its permissions"


@pytest.mark.parametrize("name", ["quickstrat", "no/such/file.toml", "/", "x" * 300, "a\0b"])
def test_a_scenario_that_is_not_there_is_refused(name: str) -> None:
    assert "neither a file nor in the library; " in refusal_of_loading(name)


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ({"changes": ["protocol.rounds"]}, '--set protocol.rounds: write it like "--set '),
        ({"changes": ["=3"]}, '--set =3: write it like "--set '),
        ({"changes": ["name.first=x"]}, '--set name.first: "name" has no keys of its own'),
        (
            {"changes": ["links.edge-cloud.rate=20"]},
            'links.edge-cloud.rate: "20" has no unit; write',
        ),
        ({"changes": ['links.edge-cloud.rate="20"']}, 'links.edge-cloud.rate: "20" is not'),
        ({"changes": ["links.edge-cloud.rate=fast\nly"]}, "--set links.edge-cloud.rate=fast ly: "),
        ({"changes": ["protocol.rounds=1\nx=2"]}, "--set protocol.rounds=1 x=2: write it like"),
        ({"changes": [f"{'a.' * 3000}b=1"]}, "--set a.a.a."),
        ({"changes": ["about=" + "[" * 2000 + "]" * 2000]}, "--set about: it is nested more"),
        ({"changes": ["seed=" + "9" * 5000]}, "--set seed: a number has more than 64 bits"),
        ({"changes": ["protocol.rounds=" + "9" * 30]}, "--set protocol.rounds: a number has more"),
        ({"changes": ["links.edge-cloud.rat=2mbit"]}, "links.edge-cloud.rat: unknown key"),
        ({"changes": ["links=wifi"]}, "links: must be a table"),
        ({"links": ["edge-cloud"]}, '--links edge-cloud: write it like "--links '),
        (
            {"links": ["edge-cloud=5gg"]},
            'links.edge-cloud: unknown profile "5gg"; did you mean "5g"?',
        ),
        ({"links": ["edge-clod=5g"]}, "links.edge-clod: "),
        ({"overrides": {"seed": -3}}, "seed: "),
    ],
)
def test_a_bad_change_on_the_command_line_is_refused(arguments: dict[str, Any], start: str) -> None:
    assert refusal_of_loading("quickstart", **arguments).startswith(start)
