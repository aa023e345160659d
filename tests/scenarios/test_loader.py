"""From a scenario's text and the command line's changes to a checked Scenario."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import BadInput
from netem import profiles
from scenarios import loader
from scenarios.schema import Scenario
from tests.support.scenario_trees import star_scenario, tree_scenario
from tests.support.spoilt_scenarios import changed, link


@pytest.mark.parametrize("name", sorted(loader.library()))
def test_every_scenario_of_the_library_loads_under_its_own_name(name: str) -> None:
    assert loader.load(name).name == name


@pytest.mark.parametrize("name", sorted(profiles.links()))
def test_every_link_profile_is_a_link(name: str) -> None:
    scenario = loader.check(changed("links", **{"edge-cloud": name}))

    assert scenario.links["edge-cloud"].profile == name


@pytest.mark.parametrize("name", sorted(profiles.devices()))
def test_every_device_profile_is_a_device(name: str) -> None:
    scenario = loader.check(changed("devices", client=name))

    device = scenario.devices["client"]
    assert device.measured or device.kinds[0].speed > 0


def test_a_mix_of_devices_keeps_its_shares() -> None:
    scenario = loader.check(changed("devices", client={"mix": {"phone": 3, "jetson-nano": 1}}))

    kinds = scenario.devices["client"].kinds
    assert [(kind.profile, kind.share) for kind in kinds] == [("phone", 3), ("jetson-nano", 1)]


def test_a_mix_names_the_profile_it_does_not_know() -> None:
    with pytest.raises(BadInput, match=r'devices.client.mix: unknown profile "phon"'):
        loader.check(changed("devices", client={"mix": {"phon": 1}}))


@pytest.mark.parametrize(
    "tree",
    [
        tree_scenario(),
        star_scenario(clock="virtual", seed=7),
        link(profile="cable", rate="2mbit", delay=0.5),
        link(profile="wan-droplet", rate_up="1mbit", queue=50),
        link(rate_up="1mbit", rate_down="9mbit", delay="20ms", jitter="5ms", loss="1%"),
        changed("protocol", edge_rounds=3, local_epochs=2),
        changed("task", partition="dirichlet", concentration=0.3, target_accuracy=0.5),
    ],
)
def test_the_resolved_scenario_loads_again_to_an_equal_one(
    tree: dict[str, Any], tmp_path: Path
) -> None:
    scenario = loader.check(tree)
    file = tmp_path / "scenario.toml"

    file.write_text(loader.dump(scenario))

    assert loader.load(str(file)) == scenario


def test_a_changed_link_starts_from_the_profile_the_scenario_named() -> None:
    before = loader.load("quickstart").links["edge-cloud"]

    after = loader.load("quickstart", changes=["links.edge-cloud.rate=2mbit"]).links["edge-cloud"]

    assert after == before.model_copy(update={"rate": "2mbit"})
    assert after.profile == before.profile
    assert after.delay != "0ms"


def test_one_rate_takes_the_place_of_two() -> None:
    changes = ["links.edge-cloud.rate=2mbit"]

    link = loader.load("quickstart", changes, links=["edge-cloud=cable"]).links["edge-cloud"]

    assert (link.rate, link.rate_up, link.rate_down) == ("2mbit", None, None)


def test_one_direction_is_changed_and_the_other_kept() -> None:
    table = {"rate": "20mbit"}
    trees = [changed("links", **{"edge-cloud": entry}) for entry in ("wan-droplet", table)]

    for tree in trees:
        loader._assign(tree, ["links", "edge-cloud", "rate_up"], "1mbit", "--set")
        link = loader.check(tree).links["edge-cloud"]

        assert (link.rate, link.rate_up, link.rate_down) == (None, "1mbit", "20mbit")


def test_a_new_delay_leaves_the_profiles_jitter_behind_but_not_ones_own() -> None:
    with_profiles = loader.load("quickstart", ["links.client-edge.delay=0.5ms"])
    own = ["links.client-edge.jitter=0.2ms", "links.client-edge.delay=0.5ms"]
    with_own = loader.load("quickstart", own)

    assert with_profiles.links["client-edge"].jitter == "0ms"
    assert with_own.links["client-edge"].jitter == "0.2ms"


def test_changes_keep_the_types_that_toml_gives_them() -> None:
    changes = ["protocol.rounds=3", "task.learning_rate=0.5", "task.shuffle=false", "about=3 rooms"]

    scenario = loader.load("quickstart", changes)

    assert scenario.protocol.rounds == 3
    assert scenario.task.learning_rate == 0.5
    assert scenario.task.shuffle is False
    assert scenario.about == "3 rooms"


def test_the_command_lines_own_options_win_and_absent_ones_change_nothing() -> None:
    overrides = {"clock": "virtual", "backend": None, "seed": 9}

    scenario = loader.load("quickstart", changes=["seed=5"], overrides=overrides)

    assert (scenario.clock, scenario.backend, scenario.seed) == ("virtual", "auto", 9)


def test_a_number_may_stand_for_a_whole_one_as_a_float() -> None:
    assert loader.check(changed("task", learning_rate=1)).task.learning_rate == 1.0


def test_the_dump_says_everything_even_what_the_file_left_to_defaults() -> None:
    dumped = tomllib.loads(loader.dump(loader.check(tree_scenario())))

    assert dumped["limits"]["late"] == "abort"
    assert (
        dumped["links"]["edge-cloud"] | {"profile": "wan-droplet", "rate": "20mbit"}
        == (dumped["links"]["edge-cloud"])
    )
    none = {"availability", "mobility", "server_data"}
    assert set(dumped) == set(Scenario.model_fields) - none
