from typing import Any

import pytest

from contracts.control import Measured
from contracts.links import LinkSpec, Shape
from netem import probe
from reports.records.fidelity import judge


def probed(**changes: Any) -> dict[str, Any]:
    fine = {
        "link": "inst1-wan",
        "round_trip_asked": 0.040,
        "round_trip_error": 0.00005,
        "rate_error": -0.004,
        "jitter": 0.0,
        "loss": 0.0,
    }
    return fine | changes


def test_a_run_whose_links_and_computing_are_right_is_exact() -> None:
    assert judge([probed()], overrun_share=0.0, drops=3)["verdict"] == "exact"


@pytest.mark.parametrize(
    "changes", [{"rate_error": 0.04}, {"round_trip_error": 0.005}, {"round_trip_error": -0.0015}]
)
def test_small_errors_are_good(changes: dict[str, Any]) -> None:
    assert judge([probed(**changes)], overrun_share=0.01, drops=0)["verdict"] == "good"


@pytest.mark.parametrize(
    ("changes", "overrun", "word"),
    [
        ({"rate_error": -0.3}, 0.0, "rate"),
        ({"round_trip_error": 0.02}, 0.0, "round trip"),
        ({}, 0.5, "overrun"),
    ],
)
def test_a_distorted_run_says_why(changes: dict[str, Any], overrun: float, word: str) -> None:
    found = judge([probed(**changes)], overrun_share=overrun, drops=0)

    assert found["verdict"] == "distorted"
    assert word in found["reason"]


def test_jitter_is_allowed_and_jitter_or_loss_excuses_the_rate() -> None:
    jittery = probed(round_trip_error=0.003, rate_error=-0.4, jitter=0.002)
    lossy = probed(rate_error=-0.5, loss=0.01)

    assert judge([jittery, lossy], overrun_share=0.0, drops=9)["verdict"] == "exact"


def test_without_probes_there_is_no_verdict() -> None:
    assert judge([], overrun_share=None, drops=None) == {}


def test_the_expected_round_trip_is_the_two_delays() -> None:
    up = Shape(rate=1e6, delay=0.010, jitter=0, loss=0, queue=64)
    down = Shape(rate=2e6, delay=0.015, jitter=0, loss=0, queue=64)

    assert probe.expected_round_trip(up, down) == pytest.approx(0.025)


def test_figures_name_the_larger_of_the_two_rate_errors() -> None:
    shape = Shape(rate=10e6, delay=0.0, jitter=0, loss=0, queue=64)
    link = LinkSpec("client1", "wan", "client-cloud", "lan", shape, shape)

    measured = Measured(0.0005, rate_up=9.9e6, rate_down=10.5e6)
    found = probe.record(link, (shape, shape), measured)

    assert found["rate_error"] == pytest.approx(0.05)


def test_a_rate_that_a_probe_cannot_reach_is_not_judged() -> None:
    # On the way at 1 Gbit/s and 150 ms: 18.75 MB, and a probe has 8 MB.
    fat = Shape(rate=1e9, delay=0.075, jitter=0, loss=0, queue=12_500)
    thin = Shape(rate=10e6, delay=0.075, jitter=0, loss=0, queue=125)
    link = LinkSpec("client1", "wan", "client-cloud", None, up=thin, down=fat)
    measured = Measured(0.15, rate_up=9.9e6, rate_down=0.2e9)

    found = probe.record(link, (thin, fat), measured)
    cramped = probe.record(link, (thin, fat), measured, socket_buffer=64_000)

    assert found["rate_error"] == pytest.approx(-0.01), "of the direction up alone"
    assert cramped["rate_error"] is None
    assert found["rate_down_measured"] == 0.2e9
    judged = probed(rate_error=cramped["rate_error"])
    assert judge([judged], overrun_share=0.0, drops=0)["verdict"] == "exact"
