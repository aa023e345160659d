"""Tempo's eq. (9) and its five steps, with numbers worked out by hand."""

import math

import numpy as np
import pytest

from protocols import registry, tempo
from protocols.base import Package, Tensors

SETTINGS = tempo.Settings(rounds=3, c=6, edge_rounds=4)


def model(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def update(samples: int, *values: float) -> Package:
    return Package({"samples": samples}, model(*values))


def test_epochs_run_from_half_c_for_the_largest_divergence_to_twice_c_for_the_smallest() -> None:
    # ln: 0, 1, 2; (c/2) / (0 - 2) * (3 ln + 0 - 8) = -1.5 * (3 ln - 8): 12, 7.5 rounded up, 3
    found = tempo.epochs({"a": 1.0, "b": math.e, "c": math.e**2}, c=6)

    assert found == {"a": 12, "b": 8, "c": 3}


def test_two_institutions_always_get_the_two_extremes() -> None:
    assert tempo.epochs({"a": 0.30, "b": 0.31}, c=6) == {"a": 12, "b": 3}


def test_an_odd_c_is_rounded_up() -> None:
    # c/2 = 2.5 -> 3; 2c = 10
    assert tempo.epochs({"near": 1.0, "far": 4.0}, c=5) == {"near": 10, "far": 3}


def test_floating_point_does_not_add_an_epoch_at_the_ends() -> None:
    for far in np.linspace(0.11, 7.3, 500):
        assert tempo.epochs({"near": 0.1, "far": float(far)}, c=6) == {"near": 12, "far": 3}


@pytest.mark.parametrize("omega", [0.5, 0.0])
def test_equal_divergences_leave_everybody_at_c(omega: float) -> None:
    assert tempo.epochs({"a": omega, "b": omega, "c": omega}, c=6) == {"a": 6, "b": 6, "c": 6}


def test_equal_divergences_stay_equal_when_models_travel_as_float32() -> None:
    # of two institutions with equal samples both are as far from their mean
    draws = np.random.default_rng(3)
    for _ in range(20):
        cloud = tempo.Server(SETTINGS, {})
        for name in ("i1", "i2"):
            weights = draws.standard_normal(5000).astype(np.float32)
            cloud.add(name, Package({"samples": 600}, {"w": weights}))

        assert cloud.finish()["epochs"] == {"i1": 6, "i2": 6}


def test_a_single_institution_keeps_c() -> None:
    assert tempo.epochs({"alone": 0.7}, c=6) == {"alone": 6}


def test_a_divergence_of_zero_counts_as_the_smallest_positive_number() -> None:
    # ln of the smallest float is -708.4; (3 / -708.4) * (3 * -0.693 - 708.4) = 3.009 -> 4
    found = tempo.epochs({"same": 0.0, "half": 0.5, "far": 1.0}, c=6)

    assert found == {"same": 12, "half": 4, "far": 3}


def test_the_cloud_starts_with_c_and_then_sends_each_institution_its_own_number() -> None:
    # (6): (0 + 3 + 9) / 3 = 4; divergences 4, 1, 5; ln: 1.386, 0, 1.609
    # (9): 3 / -1.609 * (3 ln - 6.438): 4.25 -> 5, 12, 3
    cloud = tempo.Server(SETTINGS, model(0))
    assert {m: cloud.outgoing(m).meta["epochs"] for m in ("i1", "i2")} == {"i1": 6, "i2": 6}
    for name, value in (("i1", 0.0), ("i2", 3.0), ("i3", 9.0)):
        cloud.add(name, update(10, value))

    decided = cloud.finish()

    assert cloud.model["w"].tolist() == [4]
    assert decided["divergences"] == {"i1": 4, "i2": 1, "i3": 5}
    assert decided["epochs"] == {"i1": 5, "i2": 12, "i3": 3}
    assert [cloud.outgoing(m).meta["epochs"] for m in ("i1", "i2", "i3")] == [5, 12, 3]


def test_who_missed_a_round_keeps_its_number() -> None:
    cloud = tempo.Server(SETTINGS, model(0))
    for name, value in (("i1", 0.0), ("i2", 3.0), ("i3", 9.0)):
        cloud.add(name, update(10, value))
    cloud.finish()
    for name in ("i1", "i2"):
        cloud.add(name, update(10, 4.0))

    assert cloud.finish()["epochs"] == {"i1": 6, "i2": 6, "i3": 3}


def test_batch_statistics_are_no_part_of_a_divergence() -> None:
    cloud = tempo.Server(SETTINGS, {})
    for name, value in (("i1", -3.0), ("i2", 3.0)):
        statistics = {"norm.running_var": np.array([value * 100], np.float32)}
        cloud.add(name, Package({"samples": 1}, model(value) | statistics))

    assert cloud.finish()["divergences"] == {"i1": 3, "i2": 3}


def test_an_institution_passes_the_clouds_number_on_in_each_of_its_rounds() -> None:
    institution = registry.method("tempo").Edge(SETTINGS, {})
    institution.receive(Package({"epochs": 9}, model(1)))
    first = institution.outgoing("client1")
    institution.add("client1", update(1, 2))
    institution.finish()

    assert first.meta["epochs"] == institution.outgoing("client1").meta["epochs"] == 9
    assert institution.outgoing("client1").tensors["w"].tolist() == [2]
    assert tempo.Client(SETTINGS).work(first).epochs == 9


@pytest.mark.parametrize("wrong", [{"c": 0}, {"edge_rounds": 0}])
def test_impossible_settings_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        tempo.Settings(rounds=1, **wrong)
