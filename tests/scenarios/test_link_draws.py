"""Links that differ within a tier: mixes, tables, spreads, and single hosts."""

import math
import tomllib
from collections import Counter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
import tomli_w

from contracts.errors import BadInput
from contracts.links import Shape
from contracts.plan import Plan
from nodes.launch.link_probes import links_to_probe
from scenarios import loader
from tests.support.scenario_trees import planned, star_scenario, tree_scenario

MIX = {"mix": {"wifi": 0.5, "lte": 0.3, "3g": 0.2}}


def with_links(link: Any, clients: int = 3, **sections: Any) -> Plan:
    return planned(star_scenario(clients=clients, links={"client-cloud": link}, **sections))


def profiles(plan: Plan) -> dict[str, str | None]:
    return {link.host: link.profile for link in plan.links if link.tier}


def refusal(**sections: Any) -> str:
    with pytest.raises(BadInput) as caught:
        planned(star_scenario(**sections))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def down(plan: Plan, host: str) -> Shape:
    found = next(link.down for link in plan.links if link.host == host and link.tier)
    assert found is not None
    return found


def test_a_mix_is_drawn_for_each_host_by_its_shares() -> None:
    plan = with_links(MIX, clients=1000)

    counted = Counter(profiles(plan).values())

    # Three standard deviations of a binomial: 47, 43 and 38.
    assert counted["wifi"] == pytest.approx(500, abs=47)
    assert counted["lte"] == pytest.approx(300, abs=43)
    assert counted["3g"] == pytest.approx(200, abs=38)
    assert plan.links_differ


def test_a_draw_depends_on_the_seed_and_the_host_alone() -> None:
    few, many, other = (
        with_links(MIX, clients=20),
        with_links(MIX, clients=40),
        with_links(MIX, clients=20, seed=2),
    )

    assert profiles(few).items() <= profiles(many).items()
    assert profiles(few) != profiles(other)


def test_links_that_are_all_alike_do_not_differ() -> None:
    assert not with_links("lte").links_differ
    assert not with_links({"mix": {"lte": 1.0, "3g": 0.0}}).links_differ


def test_who_got_what_is_told_where_a_name_does_not_tell_it(tmp_path: Path) -> None:
    def kinds(link: Any, **sections: Any) -> set[str]:
        plan = with_links(link, clients=30, **sections)
        return {plan.kind_of(link) for link in plan.links if link.tier}

    (tmp_path / "lines.csv").write_text(
        "rate_up,rate_down,delay\n2mbit,8mbit,20ms\n1gbit,1gbit,0ms\n"
    )
    other = {"client3": {"link": {"profile": "lte", "rate": "1mbit"}}}

    assert kinds(MIX) == {"wifi", "lte", "3g"}
    unnamed = kinds({"table": str(tmp_path / "lines.csv")})
    assert unnamed == {"2/8 Mbit/s 20 ms", "1000/1000 Mbit/s 0 ms"}
    assert kinds("lte", hosts=other) == {"lte 10/30 Mbit/s 25 ms", "lte 1/1 Mbit/s 25 ms"}
    assert len(kinds({"profile": "lte", "spread": 0.5})) == 30


def test_a_spread_has_the_profiles_median_and_the_asked_deviation() -> None:
    plan = with_links({"profile": "lte", "spread": 0.5}, clients=2000)
    rates = [math.log(down(plan, f"client{n}").rate or 0) for n in range(1, 2001)]
    ups = [link.up.rate or 0 for link in plan.links if link.tier and link.up]
    downs = [link.down.rate or 0 for link in plan.links if link.tier and link.down]

    assert fmean(rates) == pytest.approx(math.log(30e6), abs=3 * 0.5 / 2000**0.5)
    assert stdev(rates) == pytest.approx(0.5, rel=0.06)
    assert all(b / a == pytest.approx(3, rel=1e-5) for a, b in zip(ups, downs, strict=True))
    assert {link.profile for link in plan.links if link.tier} == {"lte"}


def test_a_tables_rows_are_drawn_by_their_weights(tmp_path: Path) -> None:
    table = tmp_path / "lines.csv"
    table.write_text(
        "# my office\nname,weight,rate_up,rate_down,delay,loss\n"
        "home,3,10mbit,50mbit,10ms,\nvan,1,1mbit,2mbit,80ms,1%\nnever,0,1kbit,1kbit,1s,\n"
    )

    plan = with_links({"table": str(table)}, clients=400)

    counted = Counter(profiles(plan).values())
    assert counted["home"] == pytest.approx(300, abs=26)
    assert counted.keys() == {"home", "van"}
    van = next(host for host, profile in profiles(plan).items() if profile == "van")
    shape = down(plan, van)
    assert (shape.rate, shape.delay, shape.loss) == (2e6, 0.08, 0.01)


def test_a_table_beside_the_scenario_is_found(tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("rate,delay\n5mbit,7ms\n")
    file = tmp_path / "mine.toml"
    file.write_text(tomli_w.dumps(star_scenario(links={"client-cloud": {"table": "lines.csv"}})))

    again = loader.check(tomllib.loads(loader.dump(loader.load(str(file)))))

    assert again.links["client-cloud"].table == str(tmp_path / "lines.csv")


def test_a_table_that_the_command_line_names_is_found_from_elsewhere_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lines.csv").write_text("rate\n5mbit\n")
    monkeypatch.chdir(tmp_path)

    scenario = loader.load("two-layers", ["links.client-cloud={table = 'lines.csv'}"])

    assert scenario.links["client-cloud"].table == str(tmp_path / "lines.csv")


def test_a_resolved_mix_can_be_run_again() -> None:
    first = loader.check(
        star_scenario(links={"client-cloud": MIX}, hosts={"client2": {"link": "dsl"}})
    )

    assert loader.check(tomllib.loads(loader.dump(first))) == first


def test_a_host_has_a_link_and_a_device_of_its_own() -> None:
    hosts = {"client3": {"link": "3g", "device": "raspberry-pi-4"}, "inst2": {"link": "satellite"}}

    plan = planned(tree_scenario(hosts=hosts))

    assert {link.name: link.profile for link in plan.links if link.tier} == {
        "client1-lan1": "wifi",
        "client2-lan1": "wifi",
        "client3-lan1": "3g",
        "client4-lan2": "wifi",
        "client5-lan2": "wifi",
        "client6-lan2": "wifi",
        "inst1-wan": "wan-droplet",
        "inst2-wan": "satellite",
    }
    assert {node.device for node in plan.nodes if node.role == "client"} == {
        "phone",
        "raspberry-pi-4",
    }


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        (
            {"links": {"client-cloud": {"mix": {"lte": 0.0, "3g": 0.0}}}},
            "links.client-cloud: all shares of the mix are 0; give one of them a share above 0",
        ),
        (
            {"links": {"client-cloud": {"mix": {"lte": -1.0}}}},
            "links.client-cloud.mix.1.share: input should be greater than or equal to 0 "
            "(given: -1.0); correct it (docs/scenarios.md)",
        ),
        (
            {"links": {"client-cloud": {"mix": {"let": 1.0}}}},
            'links.client-cloud.mix: unknown profile "let"; did you mean "lte"? '
            "(metronome profiles lists them)",
        ),
        (
            {"links": {"client-cloud": {"mix": {"lte": 1.0}, "delay": "3ms"}}},
            "links.client-cloud: a mix has the links; take out delay",
        ),
        (
            {"links": {"client-cloud": {"profile": "ideal", "spread": 0.5}}},
            "links.client-cloud: spread has no rates to draw around; give a profile or rates",
        ),
        (
            {"links": {"client-cloud": {"mix": {"lte": 1.0}, "spread": 0.5}}},
            "links.client-cloud: give either mix or spread",
        ),
        (
            {"hosts": {"client9": {"link": "lte"}}},
            'hosts.client9: there is no such host; did you mean "client3"?',
        ),
        (
            {"hosts": {"cloud": {"link": "lte"}}},
            "hosts.cloud.link: cloud has no server above it; give the others their links",
        ),
        (
            {"hosts": {"client1": {"links": "lte"}}},
            'hosts.client1.links: unknown key; did you mean "link"?',
        ),
        (
            {"hosts": {"client1": {"device": "host"}}},
            "hosts.client1.device: this machine is measured for a whole role; name it under "
            "[devices], or give numbers here",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(sections: dict[str, Any], sentence: str) -> None:
    assert refusal(**sections) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: unknown column"),
        ("speed\n5\n", 'line 1: unknown column "speed"; '),
        ("rate,delay\n5mbit\n", "line 2: 1 values for 2 columns; add or remove"),
        ("rate,weight\n5mbit,often\n", 'line 2: weight "often" is no number from 0 on'),
        ("rate,weight\n5mbit,0\n", "has no rows with a weight"),
        ("rate\n5\n", "line 2: "),
        ("rate,delay\n5mbit,soon\n", "line 2: "),
    ],
)
def test_a_table_with_a_mistake_is_refused_with_its_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    table = tmp_path / "lines.csv"
    table.write_text(text)

    found = refusal(links={"client-cloud": {"table": str(table)}})

    assert found.startswith(str(table)) and sentence in found


def test_a_table_that_is_not_there_is_refused() -> None:
    found = refusal(links={"client-cloud": {"table": "nowhere.csv"}})

    assert found.startswith(
        'links.client-cloud.table: "nowhere.csv" is neither a file nor a table that comes with'
    )


def test_of_very_many_kinds_of_links_some_are_measured_from_the_slowest_to_the_fastest() -> None:
    plan = with_links({"profile": "lte", "spread": 0.5}, clients=100)

    probed = links_to_probe(plan)

    rates = {link.name: link.up.rate or 0 for link in plan.links if link.tier and link.up}
    chosen = [rates[link.name] for link in probed if link.tier]
    assert len(chosen) == 12
    assert (min(chosen), max(chosen)) == (min(rates.values()), max(rates.values()))
    assert [link.profile for link in links_to_probe(with_links(MIX, clients=99))].count("lte") == 1
