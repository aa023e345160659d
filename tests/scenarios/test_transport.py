"""The section [transport]: which links get what, and what is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from contracts.errors import BadInput
from contracts.plan import Plan
from netem.capabilities import congestion_is_there
from netem.mininet_parts import namespace_settings
from tests.support.scenario_trees import planned, star_scenario, tree_scenario


def controls(plan: Plan) -> dict[str, str | None]:
    return {link.name: link.congestion for link in plan.links}


def test_without_the_section_everything_is_left_to_the_kernel() -> None:
    plan = planned(tree_scenario())

    assert {(link.congestion, link.initial_window) for link in plan.links} == {(None, None)}
    assert namespace_settings(plan.slow_start_after_idle, plan.socket_buffer) == {}


def test_a_tier_may_differ_and_a_servers_cable_goes_with_those_it_sends_to() -> None:
    tiers = {"edge-cloud": {"congestion": "bbr", "initial_window": 40}}

    plan = planned(tree_scenario(transport={"congestion": "reno", "tiers": tiers}))

    found = controls(plan)
    assert (found["client1-lan1"], found["inst1-lan1"]) == ("reno", "reno")
    assert (found["inst1-wan"], found["cloud-wan"]) == ("bbr", "bbr")
    windows = {link.name: link.initial_window for link in plan.links}
    assert (windows["cloud-wan"], windows["client1-lan1"]) == (40, None)
    assert Plan.from_json(plan.to_json()) == plan


def test_sockets_are_bounded_in_both_directions() -> None:
    plan = planned(star_scenario(transport={"buffer": "16kb", "slow_start_after_idle": False}))

    assert namespace_settings(plan.slow_start_after_idle, plan.socket_buffer) == {
        "ipv4/tcp_slow_start_after_idle": "0",
        "ipv4/tcp_rmem": "4096 16000 16000",
        "ipv4/tcp_wmem": "4096 16000 16000",
    }


@pytest.mark.parametrize(
    ("transport", "sentence"),
    [
        ({"congestion": "vegas"}, "transport.congestion: input should be 'cubic', 'reno' or 'bbr'"),
        ({"initial_window": 0}, "transport.initial_window: input should be greater than or equal"),
        ({"buffer": "1kb"}, 'transport: buffer: "1kb" is not from 4kb to 1gb; correct it'),
        (
            {"tiers": {"edge-cloud": {"congestion": "bbr"}}},
            "transport.tiers.edge-cloud: a star has no such part; it has client-cloud",
        ),
        ({"congestoin": "bbr"}, 'transport.congestoin: unknown key; did you mean "congestion"?'),
    ],
)
def test_what_cannot_be_is_refused(transport: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        planned(star_scenario(transport=transport))

    assert str(caught.value).startswith(sentence)


def test_a_congestion_control_is_there_if_loaded_or_loadable(tmp_path: Path) -> None:
    file = tmp_path / "proc/sys/net/ipv4/tcp_available_congestion_control"
    file.parent.mkdir(parents=True)
    file.write_text("reno cubic\n")
    modules = tmp_path / "lib/modules" / os.uname().release / "kernel/net/ipv4"
    modules.mkdir(parents=True)
    (modules / "tcp_bbr.ko.xz").touch()
    places = tmp_path / "proc", tmp_path / "lib"

    found = {name: congestion_is_there(name, *places) for name in ("cubic", "bbr", "vegas")}

    assert found == {"cubic": True, "bbr": True, "vegas": False}
