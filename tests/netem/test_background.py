"""Background traffic: when its packets leave, what is refused, and how it is counted."""

from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from contracts.errors import BadInput
from contracts.plan import Plan
from contracts.spool import Spool
from contracts.traffic import Flow
from netem.counters import LinkCounters
from netem.traffic.flows import departures, on_periods
from nodes.records import Records
from reports.records.run_records import RunRecords
from scenarios import loader
from tests.support.scenario_trees import planned, tree_scenario

TEN_A_SECOND = Flow(
    sender="client1",
    receiver="inst1",
    switch="lan1",
    kind="constant",
    rate=1442 * 8 * 10.0,
    on=None,
    off=None,
    start=0.0,
    until=None,
)
BURSTS = replace(TEN_A_SECOND, kind="on-off", on=1.0, off=3.0)


def traffic(**keys: Any) -> dict[str, Any]:
    return {"from": "client1", "to": "inst1", "rate": "1mbit"} | keys


def test_a_constant_flow_sends_frames_of_1442_bytes_at_its_rate() -> None:
    for_a_while = replace(TEN_A_SECOND, start=2.0, until=2.45)

    assert list(departures(for_a_while, "")) == pytest.approx([2.0, 2.1, 2.2, 2.3, 2.4])


def test_an_on_off_flow_sends_in_its_on_times_only() -> None:
    on = list(islice(on_periods(BURSTS, "seed"), 3))

    sent = [m for m in islice(departures(BURSTS, "seed"), 1000) if m < on[-1][1]]

    assert sent == [s + n * 0.1 for s, e in on for n in range(100_000) if s + n * 0.1 < e]
    again, other = (list(islice(departures(BURSTS, seed), len(sent))) for seed in ("seed", "other"))
    assert again == sent != other


def test_on_and_off_times_are_pareto_with_their_means() -> None:
    found = list(islice(on_periods(BURSTS, "seed"), 20_001))
    on = [end - start for start, end in found]
    off = [later[0] - earlier[1] for earlier, later in pairwise(found)]

    # Pareto with alpha 1.5: the least is mean / 3, the mean converges slowly.
    assert min(on) == pytest.approx(1 / 3, rel=0.001)
    assert min(off) == pytest.approx(1.0, rel=0.001)
    assert fmean(on) == pytest.approx(1.0, rel=0.15)
    assert fmean(off) == pytest.approx(3.0, rel=0.15)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"to": "inst9"}, 'traffic.1.to: no host "inst9"'),
        ({"from": "me"}, 'traffic.1.from: no host "me"'),
        ({"to": "client1"}, "no switch connects client1 with client1"),
        ({"to": "cloud"}, "no switch connects client1 with cloud"),
        ({"kind": "on-off", "on": "1s"}, "means of its on and off times"),
        ({"on": "1s"}, "never off"),
        ({"start": "2s", "until": "1s"}, "not after its start"),
        ({"form": "inst1"}, "unknown key"),
    ],
)
def test_a_flow_that_cannot_be_is_refused(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        loader.check(tree_scenario(traffic=[traffic(**keys)]))

    assert sentence in str(refused.value)


def test_a_flow_is_in_the_plan_with_its_switch_and_in_the_resolved_scenario() -> None:
    tree = tree_scenario(traffic=[traffic(to="client2", kind="on-off", on="1s", off="2s")])

    plan = Plan.from_json(planned(tree).to_json())

    assert plan == planned(tree)
    (found,) = plan.traffic
    assert (found.switch, found.rate, found.off) == ("lan1", 1e6, 2.0)
    assert 'from = "client1"' in loader.dump(loader.check(tree))


def test_background_bytes_are_neither_overhead_nor_the_methods(tmp_path: Path) -> None:
    plan = planned(tree_scenario(traffic=[traffic()]))
    records = Records(plan, tmp_path, Spool(tmp_path))
    counted = {link.name: LinkCounters() for link in plan.links}
    records.write_links(0, counted, Counter())

    carried = counted | {"client1-lan1": LinkCounters(bytes_up=5000, bytes_down=700)}
    records.write_links(
        1, carried, Counter({("client1-lan1", "up"): 1442, ("inst1-lan1", "down"): 1442})
    )

    (tmp_path / "plan.json").write_text(plan.to_json())
    found = RunRecords(tmp_path).traffic
    assert found.wire["client-edge", "up"] == 5000 - 1442
    assert found.background["client-edge", "up"] == 1442
    assert found.background.total() == 1442, "the attachment's share was counted already"
