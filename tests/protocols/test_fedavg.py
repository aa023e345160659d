"""FedAvg's equations with numbers worked out by hand, and the memory they may take."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from contracts.training import Result
from protocols import fedavg, registry
from protocols.averaging import WeightedMean
from protocols.base import Package, Tensors
from protocols.wire import Refused

SETTINGS = fedavg.Settings(rounds=1, edge_rounds=2, local_epochs=3)


def model(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def update(samples: Any, *values: float) -> Package:
    return Package({"samples": samples}, model(*values))


def server(tensors: Tensors | None = None) -> fedavg.Server:
    return fedavg.Server(SETTINGS, model(0, 0) if tensors is None else tensors)


def after_round(target: fedavg.Server, *updates: Package) -> fedavg.Server:
    for number, package in enumerate(updates):
        target.add(f"client{number}", package)
    target.finish()
    return target


def test_a_server_averages_its_children_by_their_samples() -> None:
    # (4): (100 * [1, 2] + 300 * [5, 10]) / 400 = [4, 8]
    target = after_round(server(), update(100, 1, 2), update(300, 5, 10))

    assert target.model["w"].tolist() == [4, 8]
    assert target.samples == 400


def test_an_institutions_next_round_starts_from_its_own_average() -> None:
    # (5): what goes out in round 2 is what round 1 gave
    target = after_round(server(), update(1, 2, 4), update(1, 4, 8))

    assert target.outgoing("client1").tensors["w"].tolist() == [3, 6]

    after_round(target, update(1, 10, 10))

    assert target.outgoing("client1").tensors["w"].tolist() == [10, 10], "nothing of round 1 stays"


def test_the_cloud_averages_institutions_by_the_samples_below_them() -> None:
    # (4): institution 1 has (1*0 + 3*4) / 4 = 3, of 4 samples; institution 2 has 9, of 2 samples
    # (6): (4*3 + 2*9) / 6 = 5
    first = after_round(server(), update(1, 0), update(3, 4))
    second = after_round(server(), update(2, 9))

    cloud = after_round(server(), first.upward(), second.upward())

    assert cloud.model["w"].tolist() == [5]
    assert cloud.samples == 6


def test_the_clouds_model_starts_the_next_iteration_at_an_institution() -> None:
    # (7)
    institution = after_round(server({}), update(1, 8))

    institution.receive(Package({"epochs": 3}, model(5)))

    assert institution.outgoing("client1").tensors["w"].tolist() == [5]


def test_three_layers_with_one_edge_round_are_one_flat_weighted_mean() -> None:
    random = np.random.default_rng(1)
    samples = [int(n) for n in random.integers(1, 1000, 12)]
    clients = [update(count, *random.normal(size=7)) for count in samples]

    flat = after_round(server(), *clients)
    institutions = [after_round(server(), *clients[at : at + 4]) for at in (0, 4, 8)]
    layered = after_round(server(), *(institution.upward() for institution in institutions))

    assert layered.samples == flat.samples == sum(samples)
    np.testing.assert_allclose(layered.model["w"], flat.model["w"], rtol=1e-6, atol=1e-6)


def test_one_clients_model_is_the_average() -> None:
    values = np.random.default_rng(2).normal(size=100).astype(np.float32)
    target = server()

    target.add("client1", Package({"samples": 17}, {"w": values}))
    target.finish()

    np.testing.assert_array_equal(target.model["w"], values)


def test_the_order_of_arrival_does_not_matter() -> None:
    random = np.random.default_rng(3)
    updates = [update(int(n), *random.normal(size=50)) for n in random.integers(1, 900, 30)]

    forth = after_round(server(), *updates)
    back = after_round(server(), *reversed(updates))

    np.testing.assert_allclose(forth.model["w"], back.model["w"], rtol=1e-6, atol=1e-6)


def test_updates_that_stand_for_no_samples_leave_the_model_as_it_was() -> None:
    target = server()
    before = target.model["w"].copy()

    after_round(target, update(0, 1, 2))

    np.testing.assert_array_equal(target.model["w"], before)
    assert target.upward().meta["samples"] == 0


def test_an_edge_that_nobody_trained_for_counts_nothing_above() -> None:
    target = after_round(server(), update(3, 1, 2))
    target.no_updates()
    assert target.upward().meta["samples"] == 3  # of an earlier round since the cloud's model

    target.receive(Package({}, target.model))
    target.no_updates()

    assert target.upward().meta["samples"] == 0


@pytest.mark.parametrize("samples", [None, -1, 2.5, "10", True])
def test_an_update_without_a_sample_count_is_refused_and_changes_nothing(samples: Any) -> None:
    target = server()
    target.add("client1", update(1, 7, 7))

    with pytest.raises(Refused, match="no sample count"):
        target.add("client2", update(samples, 99, 99))
    target.finish()

    assert target.model["w"].tolist() == [7, 7]


def test_a_client_trains_as_many_epochs_as_the_server_says() -> None:
    # (3)
    client = fedavg.Client(SETTINGS)
    package = server().outgoing("client1")
    result = Result(model(1, 2), samples=60, steps=18, loss=0.5, host_seconds=0.1)

    work = client.work(package)
    reply = client.reply(package, result)

    assert (work.epochs, work.rule) == (3, "")
    assert reply.meta["samples"] == 60
    assert reply.tensors is result.tensors


@pytest.mark.parametrize("wrong", [{"edge_rounds": 0}, {"local_epochs": 0}])
def test_settings_of_zero_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        fedavg.Settings(rounds=1, **wrong)


def test_every_method_has_its_three_parts() -> None:
    for name in registry.PROTOCOLS:
        method = registry.method(name)

        assert method.Settings(rounds=1).rounds == 1
        assert callable(method.Server) and callable(method.Client)


# The running mean


def test_the_mean_keeps_the_tensors_types() -> None:
    mean = WeightedMean()
    for weight, count in ((0.1, 7), (0.2, 7), (0.7, 7)):
        mean.add({"w": np.ones(2, np.float32), "n": np.array(count)}, weight)

    found = mean.mean()

    assert found["w"].dtype == np.float32
    assert found["n"].dtype == np.int64
    assert int(found["n"]) == 7, "rounded, not cut off"


def test_the_mean_does_not_keep_or_change_what_was_added() -> None:
    first = np.ones(3, np.float32)
    first.flags.writeable = False  # as received frames are
    mean = WeightedMean()

    mean.add({"w": first}, 1)
    mean.add({"w": np.full(3, 3, np.float32)}, 1)

    assert mean.mean()["w"].tolist() == [2, 2, 2]
    assert first.tolist() == [1, 1, 1]


def test_memory_is_a_constant_number_of_models_however_many_are_added() -> None:
    elements = 250_000
    model_bytes = 4 * elements

    def peak_with(children: int) -> int:
        tracemalloc.start()
        try:
            target = server({})
            for number in range(children):
                tensors = {"w": np.full(elements, number, np.float32)}
                target.add(f"client{number}", Package({"samples": 10}, tensors))
            target.finish()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak_with(3), peak_with(100)

    assert many < few + model_bytes / 2
    # In double precision the sum is two models and a product two more; two are the last update
    # and the one that just comes.
    assert many < 6.1 * model_bytes
