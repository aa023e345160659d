"""FedBuff's algorithm 1, with numbers worked out by hand, and where it is FedAvg."""

import numpy as np
import pytest

from contracts.training import Result
from protocols import fedavg, fedbuff
from protocols.base import Facts, Package, Tensors
from protocols.streaming import STALENESS


def settings(**given: object) -> fedbuff.Settings:
    return fedbuff.Settings(**{"rounds": 1, **given})  # type: ignore[arg-type]


def model(*values: float) -> Tensors:
    return {"w": np.array(values, np.float32)}


def delta(staleness: int, *values: float) -> Package:
    return Package({"samples": 10, STALENESS: staleness}, model(*values))


def test_the_buffer_s_mean_makes_one_step() -> None:
    server = fedbuff.Server(settings(buffer=2, eta_g=0.5), model(1, 1))

    server.add("client1", delta(0, 2, 0))
    server.add("client2", delta(3, 4, -8))
    decided = server.finish()

    # s(3) = 1 / sqrt(4) = 0.5; ((2 + 0.5 * 4) / 2, (0 - 0.5 * 8) / 2) = (2, -2); times 0.5
    assert server.model["w"] == pytest.approx([2, 0])
    assert decided == {
        "staleness": {"client1": 0, "client2": 3},
        "weight": {"client1": 1.0, "client2": 0.5},
    }


def test_the_buffer_is_empty_after_a_step() -> None:
    server = fedbuff.Server(settings(buffer=1), model(0))
    for _ in range(2):
        server.add("client1", delta(0, 1))
        server.finish()

    assert server.model["w"] == pytest.approx([2])


def test_k_is_that_of_the_children_s_role() -> None:
    server = fedbuff.Server(settings(buffer=7, cloud_buffer=2), model(0))
    assert server.wanted == 7

    server.facts = Facts(institutions=3)
    assert server.wanted == 2


@pytest.mark.parametrize(("concurrency", "children", "expected"), [(0, 5, 5), (3, 5, 3), (9, 5, 5)])
def test_concurrency_bounds_how_many_hold_a_model(
    concurrency: int, children: int, expected: int
) -> None:
    assert fedbuff.Server(settings(concurrency=concurrency), {}).at_once(children) == expected


def test_a_client_sends_what_training_changed() -> None:
    sent = Package({"epochs": 1}, model(1, 2))
    trained = Result(model(1.5, 0), samples=10, steps=1, loss=0.3, host_seconds=0.0)

    reply = fedbuff.Client(settings()).reply(sent, trained)

    assert reply.tensors["w"].tolist() == [0.5, -2] and reply.tensors["w"].dtype == np.float32
    assert reply.meta == {"samples": 10, "loss": 0.3}


def test_an_institution_sends_up_what_its_steps_changed() -> None:
    edge = fedbuff.Server(settings(buffer=1), {})
    edge.receive(Package({}, model(10)))
    for _ in range(2):
        edge.add("client1", delta(0, 3))
        edge.finish()

    up = edge.upward()

    assert up.tensors["w"] == pytest.approx([6]) and up.meta == {"samples": 10}


def test_with_equal_clients_and_a_buffer_for_all_it_is_fedavg() -> None:
    draws = np.random.default_rng(1)
    start = {"w": draws.standard_normal(1000).astype(np.float32)}
    trained = [{"w": draws.standard_normal(1000).astype(np.float32)} for _ in range(5)]
    average = fedavg.Server(fedavg.Settings(rounds=1), start)
    buffered = fedbuff.Server(settings(buffer=5), start)

    for number, result in enumerate(trained):
        average.add(f"client{number}", Package({"samples": 600}, result))
        difference = {"w": result["w"] - start["w"]}
        buffered.add(f"client{number}", Package({"samples": 600, STALENESS: 0}, difference))
    average.finish()
    buffered.finish()

    assert buffered.model["w"] == pytest.approx(average.model["w"], abs=1e-6)


def test_statistics_are_averaged_whatever_eta_g_is() -> None:
    name = "bn.running_mean"
    server = fedbuff.Server(settings(buffer=1, eta_g=0.1), {name: np.array([1.0], np.float32)})

    server.add(
        "client1", Package({"samples": 1, STALENESS: 0}, {name: np.array([2.0], np.float32)})
    )
    server.finish()

    assert server.model[name] == pytest.approx([3.0])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"buffer": 0}, "buffer"),
        ({"cloud_buffer": 0}, "buffer"),
        ({"eta_g": 0.0}, "eta_g"),
        ({"exponent": -0.5}, "exponent"),
        ({"concurrency": -1}, "concurrency"),
    ],
)
def test_impossible_settings_are_refused_by_name(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        settings(**given)
