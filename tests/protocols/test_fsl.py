"""FSL, FSL-p, DS and DSL with numbers worked out by hand from the two FSL papers."""

import numpy as np
import pytest

from contracts.errors import BadInput
from contracts.training import Result
from protocols import ds, dsl, fedavg, fsl, fsl_p
from protocols.averaging import WeightedMean
from protocols.base import Facts, Package, Tensors
from protocols.server_learning import server_step
from protocols.wire import Refused
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts
from tests.support.scenario_trees import TENSORS, star_scenario
from tests.support.two_parameters import model, values

FACTS = Facts(
    clients=10, sampled=4, samples=1000, server_samples=50, batch_size=10, learning_rate=0.02
)


def server(kind: type[fsl.Server] = fsl.Server, **settings: float) -> fsl.Server:
    made = kind(fsl.Settings(rounds=1, **settings), model(1, 1))  # type: ignore[arg-type]
    made.facts = FACTS
    return made


def result(tensors: Tensors) -> Result:
    return Result(tensors, samples=50, steps=10, loss=0.0, host_seconds=0.0)


def after(target: fedavg.Server, *models: Tensors) -> Tensors:
    for number, tensors in enumerate(models):
        target.add(f"client{number}", Package({"samples": 100}, tensors))
    target.finish()
    return target.model


def test_the_server_steps_eta_g_times_the_mean_update() -> None:
    # Delta = ((2, 1) + (4, 3)) / 2 - (1, 1) = (2, 1); eta_g = sqrt(4): 1 + 2 * 2, 1 + 2 * 1
    assert values(after(server(), model(2, 1), model(4, 3))) == [5, 3]
    assert values(after(server(eta_g=0.5), model(2, 1), model(4, 3))) == [2, 1.5]


def test_statistics_of_batch_normalisation_are_averaged_not_stepped() -> None:
    # a variance of 1 and a mean of .1 would become 1 + 2 (.1 - 1) = -.8
    before = {"bn.running_var": np.ones(1, np.float32)}
    mean = WeightedMean()
    mean.add({"bn.running_var": np.full(1, 0.1, np.float32)}, 1)

    assert server_step(before, mean, 2.0)["bn.running_var"].tolist() == pytest.approx([0.1])


def test_without_gamma_and_with_eta_g_1_it_is_fedavg_to_the_bit() -> None:
    random = np.random.default_rng(3)
    updates = [model(*random.normal(size=2)) for _ in range(7)]
    plain = fedavg.Server(fedavg.Settings(rounds=1), model(1, 1))
    ours = server(gamma=0.0, eta_g=1.0)

    assert np.array_equal(after(plain, *updates)["weight"], after(ours, *updates)["weight"])
    assert ours.server_job("after") is None
    assert ours.server_job("before") is None
    assert ours.outgoing("client1").meta == plain.outgoing("client1").meta


def test_epochs_steps_and_rate_of_the_server_are_those_of_section_iv() -> None:
    # K = 100 / 10 = 10; E_s = ceil(1000 / (10 * 50)) = 2; K_0 = 2 * 5 = 10;
    # eta_0 = sqrt(4) eta_l 10 / 10 = 2 eta_l, times gamma
    work = fsl.server_work(fsl.Settings(rounds=1, gamma=0.5), FACTS)

    assert (work.epochs, work.steps) == (2, 0)
    assert work.rate_factor == pytest.approx(0.5 * 2)


def test_server_epochs_are_rounded_up_and_at_least_one() -> None:
    few = Facts(clients=45, sampled=5, samples=108_000, server_samples=225, batch_size=50)
    many = Facts(clients=1000, sampled=10, samples=50_000, server_samples=500, batch_size=10)

    assert fsl.server_epochs(few, 1) == 11  # 2400 / 225 = 10.67
    assert fsl.server_epochs(many, 1) == 1  # 50 / 500 = 0.1


def test_steps_and_rate_may_be_given_instead() -> None:
    # FSL-short: eta_g = 1 and the step size as it is. 7 steps of 5 an epoch are in the second.
    short = fsl.Settings(rounds=1, eta_g=1.0, eta_0=0.03, server_steps=7)

    work = fsl.server_work(short, FACTS)

    assert (work.epochs, work.steps) == (2, 7)
    assert work.rate_factor * FACTS.learning_rate == pytest.approx(0.03)


def test_fsl_short_is_fsl_with_eta_g_1_and_its_step_size() -> None:
    # gamma eta_0 = 1 * sqrt(4) * .02 * 10 / 10 = .04: the same work, and the plain mean before it
    long, short = server(eta_g=1.0), server(eta_g=1.0, eta_0=0.04)
    updates = (model(2, 1), model(4, 3))

    assert np.array_equal(after(long, *updates)["weight"], after(short, *updates)["weight"])
    jobs = [made.server_job("after") for made in (long, short)]
    factors = [job.work.rate_factor for job in jobs if job is not None]
    assert factors == pytest.approx([2.0, 2.0])


def test_the_server_trains_what_it_combined_and_sends_what_came_of_it() -> None:
    target = server()
    combined = after(target, model(2, 1), model(4, 3))

    job = target.server_job("after")
    assert job is not None
    assert job.model is combined
    target.server_trained("after", result(model(7, 8)))

    assert values(target.outgoing("client1").tensors) == [7, 8]


def test_it_may_train_beforehand_at_a_rate_of_its_own() -> None:
    job = server(pretrain_epochs=500, pretrain_rate=0.01).server_job("before")

    assert job is not None
    assert (job.work.epochs, job.work.rate_factor) == (500, 0.5)  # of eta_l = .02


def test_the_server_of_fsl_p_is_one_more_contributor() -> None:
    # mean (3, 2) and gamma = 3 times (7, 10): (24, 32) / 4 = (6, 8); eta_g = 1
    target = server(fsl_p.Server, gamma=3.0, eta_g=1.0)
    job = target.server_job("beside")
    assert job is not None
    assert values(job.model) == [1, 1], "what the clients train too"
    assert job.work.rate_factor == 1

    target.server_trained("beside", result(model(7, 10)))

    assert values(after(target, model(2, 1), model(4, 3))) == [6, 8]
    assert target.server_job("after") is None


def test_fsl_p_without_gamma_does_not_train() -> None:
    target = server(fsl_p.Server, gamma=0.0, eta_g=1.0)

    assert target.server_job("beside") is None
    assert values(after(target, model(2, 1), model(4, 3))) == [3, 2]


def data(count: int = 3) -> Tensors:
    images = np.arange(count * 4, dtype=np.uint8).reshape(count, 1, 2, 2)
    return {"images": images, "labels": np.arange(count, dtype=np.int64)}


@pytest.mark.parametrize("kind", [ds.Server, dsl.Server])
def test_shared_samples_travel_to_a_client_and_into_its_training(kind: type[fsl.Server]) -> None:
    target = server(kind)
    target.data = data()

    package = target.data_to_share()
    assert package is not None
    assert sum(tensor.nbytes for tensor in package.tensors.values()) == 3 * 4 + 3
    client = ds.Client(fedavg.Settings(rounds=1))
    client.receive_data(package)
    work = client.work(Package({"epochs": 1}, model(0, 0)))

    assert work.extra_samples == 3
    assert work.tensors["samples/labels"].tolist() == [0, 1, 2]
    assert work.tensors["samples/labels"].dtype == np.int64
    assert np.array_equal(work.tensors["samples/images"], data()["images"])


def test_a_client_without_the_shared_samples_does_not_train_as_if_nothing_were() -> None:
    with pytest.raises(ValueError, match="shared samples"):
        ds.Client(fedavg.Settings(rounds=1)).work(Package({"epochs": 1}, model(0, 0)))


def test_what_is_no_data_set_is_refused() -> None:
    with pytest.raises(Refused, match="not a data set"):
        ds.Client(fedavg.Settings(rounds=1)).receive_data(Package(tensors=model(0, 0)))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"gamma": -1.0}, "gamma"),
        ({"eta_g": 0.0}, "eta_g"),
        ({"server_epochs": 1, "server_steps": 1}, "not both"),
        ({"pretrain_epochs": -1}, "pretrain_epochs"),
        ({"clients_per_round": -1}, "clients_per_round"),
    ],
)
def test_impossible_settings_are_named(settings: dict[str, float], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        fsl.Settings(rounds=1, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["fsl", "ds", "scaffold", "feddyn"])
def test_they_are_for_a_star(name: str) -> None:
    tree = star_scenario(
        protocol={"name": name, "rounds": 1},
        topology={"kind": "cells", "cells": 2, "alone": 2},
        links={"client-edge": "lte"},
        devices={"client": "phone", "edge": "laptop-core"},
        task={"dataset": "tiny", "model": "lenet5"},
        server_data={"kind": "iid", "samples": 10},
    )

    with pytest.raises(BadInput, match=r'use topology\.kind "star"'):
        loader.check(tree)


def test_server_learning_without_server_data_is_refused() -> None:
    with pytest.raises(BadInput, match="server_data: missing"):
        loader.check(star_scenario(protocol={"name": "fsl", "rounds": 1}))


def test_more_clients_a_round_than_there_are_is_refused() -> None:
    settings = {"name": "fedavg", "rounds": 1, "clients_per_round": 4}

    with pytest.raises(BadInput, match="4 cannot be drawn of 3 clients"):
        loader.check(star_scenario(clients=3, protocol=settings))


def test_a_message_limit_below_the_shared_samples_is_refused() -> None:
    scenario = loader.check(
        star_scenario(
            protocol={"name": "ds", "rounds": 1},
            server_data={"kind": "iid", "samples": 10},
            limits={"message": "1mb"},
        )
    )
    facts = TaskFacts(
        samples=[10] * 3,
        flops_per_step=1000,
        tensors=TENSORS,
        server_samples=10,
        server_bytes=2**20,
    )

    with pytest.raises(BadInput, match=r"limits\.message: D_0 needs"):
        planner.plan(scenario, facts, run="run", trainer="pool")
