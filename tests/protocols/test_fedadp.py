"""FedAdp's angles and weights, with numbers worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest

from protocols import fedadp
from protocols.base import Package, Tensors

SETTINGS = fedadp.Settings(rounds=3, edge_rounds=2, local_epochs=4)


def model(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def decided(server: fedadp.Server, **updates: tuple[int, tuple[float, ...]]) -> dict[str, Any]:
    for name, (samples, values) in updates.items():
        server.add(name, Package({"samples": samples}, model(*values)))
    return server.finish()


def test_gompertz_at_hand_worked_points() -> None:
    # f(1) = 5 (1 - exp(-1)); f(0) = 5 (1 - exp(-e^5)) = 5; f(pi/2) = 5 (1 - exp(-e^-2.854)) = 0.280
    assert fedadp.gompertz(1.0) == pytest.approx(3.1606, abs=1e-4)
    assert fedadp.gompertz(0.0) == pytest.approx(5.0)
    assert fedadp.gompertz(math.pi / 2) == pytest.approx(0.2799, abs=1e-4)


def test_angles_are_between_updates_and_their_weighted_average() -> None:
    # sent (1, 1); updates (1, 0) and (0, 1); average (.5, .5): 45 degrees each, equal weights
    server = fedadp.Server(SETTINGS, model(1, 1))

    found = decided(server, a=(10, (2, 1)), b=(10, (1, 2)))

    assert found["angles"]["a"] == pytest.approx(math.pi / 4)
    assert found["weights"] == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
    assert server.model["w"].tolist() == [1.5, 1.5]
    assert server.samples == 20


def test_who_pulls_the_common_way_weighs_more() -> None:
    # updates (3, 0) and (0, 1), equal samples: average (1.5, .5)
    # angles atan(1/3) = 0.32175 and atan(3) = 1.24905
    # f: 5 (1 - exp(-e^3.3912)) = 5; 5 (1 - exp(-e^-1.2452)) = 1.2508
    # e^5 = 148.413, e^1.2508 = 3.493: weights .97700 and .02300
    server = fedadp.Server(SETTINGS, model(0, 0))

    found = decided(server, a=(7, (3, 0)), b=(7, (0, 1)))

    assert found["angles"] == {
        "a": pytest.approx(0.32175, abs=1e-5),
        "b": pytest.approx(1.24905, abs=1e-5),
    }
    assert found["weights"]["b"] == pytest.approx(0.0230, abs=1e-4)
    assert server.model["w"].tolist() == pytest.approx([3 * 0.9770, 0.0230], abs=1e-4)


def test_samples_weigh_in_the_average_and_in_the_result() -> None:
    # parallel updates: angles 0, so only the samples count: (30 * 1 + 10 * 5) / 40 = 2
    server = fedadp.Server(SETTINGS, model(0, 0))

    found = decided(server, a=(30, (1, 0)), b=(10, (5, 0)))

    assert found["angles"] == {"a": pytest.approx(0, abs=1e-7), "b": pytest.approx(0, abs=1e-7)}
    assert found["weights"] == {"a": pytest.approx(0.75), "b": pytest.approx(0.25)}
    assert server.model["w"].tolist() == [2, 0]


def test_angles_are_smoothed_over_the_rounds() -> None:
    # round 1: 45 degrees each; round 2 is parallel: ((2 - 1) * pi/4 + 0) / 2 = pi/8
    server = fedadp.Server(SETTINGS, model(0, 0))
    decided(server, a=(1, (1, 0)), b=(1, (0, 1)))

    found = decided(server, a=(1, (1.5, 0.5)), b=(1, (2.5, 0.5)))

    assert found["angles"]["a"] == pytest.approx(0, abs=1e-7)
    assert found["smoothed_angles"]["a"] == pytest.approx(math.pi / 8)


def test_a_zero_update_counts_as_orthogonal() -> None:
    server = fedadp.Server(SETTINGS, model(0, 0))

    found = decided(server, a=(1, (2, 0)), idle=(1, (0, 0)))

    assert found["angles"]["idle"] == pytest.approx(math.pi / 2)
    assert found["angles"]["a"] == pytest.approx(0)


def test_two_opposite_updates_cancel_with_equal_weights() -> None:
    server = fedadp.Server(SETTINGS, model(4, 0))

    found = decided(server, a=(1, (5, 0)), b=(1, (3, 0)))

    assert found["angles"] == {"a": pytest.approx(math.pi / 2), "b": pytest.approx(math.pi / 2)}
    assert found["weights"] == {"a": 0.5, "b": 0.5}
    assert server.model["w"].tolist() == [4, 0]


def test_a_single_contributor_is_taken_over() -> None:
    server = fedadp.Server(SETTINGS, model(0, 0))

    found = decided(server, alone=(5, (3, 4)))

    assert found["weights"] == {"alone": 1.0}
    assert server.model["w"].tolist() == [3, 4]


def test_an_institution_sends_its_samples_and_model_upward() -> None:
    server = fedadp.Server(SETTINGS, {})
    server.receive(Package({}, model(0, 0)))
    decided(server, a=(2, (1, 0)), b=(3, (2, 0)))

    assert server.upward().meta == {"samples": 5}
    assert server.outgoing("a").meta == {"epochs": 4}
