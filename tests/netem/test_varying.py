"""Links that follow traces: when each row takes effect, on which links, and how it is reported."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from contracts.errors import BadInput
from contracts.links import Shape
from contracts.plan import Plan
from contracts.traces import Row, Trace
from netem import shaping
from netem.varying_links import VaryingLinks
from reports.bottleneck.used_links import UsedLinks
from reports.records.fidelity import judge
from reports.wording import links as links_in_words
from tests.support.scenario_trees import planned, star_scenario

TRACE = "time,rate_up,rate_down,delay\n0,1e6,2e6,0.01\n1,3e6,4e6,0.02\n3,5e6,6e6,0.03\n"


class Link:
    """Remembers its rates up; there is nothing to send."""

    def __init__(self) -> None:
        self.rates: list[float | None] = []

    def requests_to_change(self, up: Shape, down: Shape) -> Iterator[tuple[socket.socket, bytes]]:
        self.rates.append(up.rate)
        return iter(())


@pytest.fixture
def trace_file(tmp_path: Any) -> str:
    file = tmp_path / "own.csv"
    file.write_text(TRACE)
    return str(file)


def plan_of(trace: str, clients: int = 2, **keys: Any) -> Plan:
    return planned(star_scenario(clients, links={"client-cloud": {"trace": trace, **keys}}))


def test_a_trace_is_in_the_plan_once_and_survives_json(trace_file: str) -> None:
    plan = plan_of(trace_file, clients=3)

    again = Plan.from_json(plan.to_json())

    assert again == plan
    assert list(plan.traces) == [trace_file]
    assert plan.to_json().count("3000000.0") == 1


def test_rows_take_effect_at_their_times_and_repeat_from_the_start(trace_file: str) -> None:
    plan = plan_of(trace_file, clients=1)
    link = Link()
    varying = VaryingLinks(plan, {"client1-wan": link})

    seen = []
    while (due := varying.next_change) is not None and due < 8:
        varying.advance(due)
        seen.append((due, link.rates[-1]))

    # Rows at 0, 1 and 3 s; the last lasts 2 s like the one before it, so that 5 s is 0 again.
    assert seen == [(0, 1e6), (1, 3e6), (3, 5e6), (5, 1e6), (6, 3e6)]


def test_what_comes_late_skips_rows_that_are_over(trace_file: str) -> None:
    link = Link()
    varying = VaryingLinks(plan_of(trace_file, clients=1), {"client1-wan": link})
    varying.advance(0.0)

    varying.advance(3.5)

    assert link.rates == [1e6, 5e6]
    assert varying.next_change == 5
    (report,) = varying.report()
    assert (report["changes"], report["late_seconds_most"]) == (2, 2.5)


def test_links_start_elsewhere_in_the_trace_by_the_seed(trace_file: str) -> None:
    plan = plan_of(trace_file, clients=20, trace_offset="random")
    same = plan_of(trace_file, clients=20, trace_offset="random")
    rows = {link.name: link.trace_row for link in plan.links if link.tier}
    made = {name: Link() for name in rows}

    varying = VaryingLinks(plan, made)
    varying.advance(0.0)

    assert rows == {link.name: link.trace_row for link in same.links if link.tier}
    assert set(rows.values()) == {0, 1, 2}
    assert all(made[name].rates == [[1e6, 3e6, 5e6][row]] for name, row in rows.items())
    assert {link.up.rate for link in plan.links if link.up} == {1e6}, "one kind is measured"
    assert varying.next_change == 1.0  # those with row 0


def test_a_link_that_the_timeline_changed_leaves_its_trace(trace_file: str) -> None:
    made = {"client1-wan": Link(), "client2-wan": Link()}
    varying = VaryingLinks(plan_of(trace_file), made)
    varying.advance(0.0)

    varying.stop_following(["client1-wan"])
    varying.advance(1.0)

    assert [link.rates for link in made.values()] == [[1e6], [1e6, 3e6]]


def test_the_mean_rate_is_over_the_time_asked_for() -> None:
    trace = Trace(5.0, (Row(0, 1e6, 2e6), Row(1, 3e6, 4e6), Row(3, 5e6, 6e6)))

    # 0.5 s at 1, 2 s at 3, 0.5 s at 5 Mbit/s: 9 Mbit in 3 s
    assert trace.mean_rates(0.5, 3.5) == pytest.approx((3e6, 4e6))
    # a link that began with the second row is a second ahead
    assert trace.mean_rates(0, 2, begun_at=1) == pytest.approx((3e6, 4e6))
    # from 4 to 6 s: one second of the last row, one of the first
    assert trace.mean_rates(4, 6) == pytest.approx((3e6, 4e6))
    assert trace.mean_rates(0, 10) == pytest.approx((17e6 / 5, 22e6 / 5))


def test_reports_take_the_mean_rate_of_a_transfer(trace_file: str) -> None:
    plan = plan_of(trace_file, clients=1)
    link = next(link for link in plan.links if link.tier)

    shapes = UsedLinks(plan).shapes(link, 0.5, 3.5)

    assert shapes is not None
    assert shapes[0].rate == pytest.approx(3e6)
    assert links_in_words(plan) == "client-cloud trace own"


def test_only_the_rate_is_changed_where_only_the_rate_changes() -> None:
    slow, fast = (Shape(rate, 0.01, 0.0, 0.0, 80, varies=True) for rate in (1e6, 2e6))

    differing = set(shaping.disciplines(fast, 0.0)) - set(shaping.disciplines(slow, 0.0))

    assert [(part.kind, part.is_class) for part in differing] == [("htb", True)]


def test_a_queue_is_enough_for_the_highest_rate_and_delay(trace_file: str) -> None:
    link = next(link for link in plan_of(trace_file).links if link.tier)

    # down: 6 Mbit/s and 30 ms are 14.9 frames in flight; the queue is the shortest one, 64
    assert link.down is not None
    assert link.down.queue == 64 + 15


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"rate": "1mbit"}, "a trace has the rates"),
        ({"jitter": "11ms", "delay": "20ms"}, "below the jitter"),
        ({"trace_offset": "some"}, "trace_offset"),
    ],
)
def test_what_does_not_go_with_a_trace_is_refused(
    keys: dict[str, Any], words: str, trace_file: str
) -> None:
    with pytest.raises(BadInput, match=words):
        plan_of(trace_file, **keys)


def test_a_trace_cannot_begin_during_a_run() -> None:
    event = {"at": "1s", "event": "link", "tier": "client-cloud", "profile": "lte-driving"}

    with pytest.raises(BadInput, match=r"timeline\.1: a trace cannot begin during a run"):
        planned(star_scenario(timeline=[event]))


@pytest.mark.parametrize(
    ("late", "verdict"), [(0.0005, "exact"), (0.005, "good"), (0.05, "distorted")]
)
def test_late_changes_count_in_the_verdict(late: float, verdict: str) -> None:
    found = judge([], 0.0, 0, [{"trace": "t", "late_seconds_mean": late}])

    assert found["verdict"] == verdict
    assert ("50.0 ms late" in found.get("reason", "")) == (verdict == "distorted")
