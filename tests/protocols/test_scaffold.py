"""SCAFFOLD on a model of two parameters, worked out by hand (algorithm 1, option II)."""

import numpy as np
import pytest

from contracts.training import Result
from protocols import fedavg, scaffold
from protocols.base import Facts, Package, Tensors
from tests.support.two_parameters import model, trained, values

SETTINGS = scaffold.Settings(rounds=1, eta_g=1.0)


def variate(first: float, second: float, prefix: str = scaffold.VARIATE) -> Tensors:
    return {prefix + name: tensor for name, tensor in model(first, second).items()}


def sent(tensors: Tensors) -> Package:
    return Package({"epochs": 1}, tensors)


def result(weights: Tensors, own: Tensors) -> Result:
    extras = {f"rule/{name}": tensor for name, tensor in own.items()}
    return Result(weights | extras, samples=1, steps=1, loss=0.0, host_seconds=0.0)


def test_a_step_goes_along_the_gradient_corrected_by_both_variates() -> None:
    # g = (-1, 1), c - c_i = (.5 - .1, .25 + .1) = (.4, .35): y = -.1 (-.6, 1.35) = (.06, -.135)
    # c_i+ = c_i - c + (x - y) / (1 * .1) = (-.4 - .6, -.35 + 1.35) = (-1, 1): the gradient itself
    tensors = variate(0.5, 0.25) | variate(0.1, -0.1, "rule/")

    weights, own = trained(model(0, 0), scaffold.LocalRule({}), tensors)

    assert values(weights) == pytest.approx([0.06, -0.135])
    assert values(own) == pytest.approx([-1, 1], abs=1e-6)


def test_with_zero_variates_a_client_trains_as_under_fedavg() -> None:
    zero = variate(0, 0) | variate(0, 0, "rule/")

    weights, _ = trained(model(0.5, 0), scaffold.LocalRule({}), zero, steps=3)

    plain, _ = trained(model(0.5, 0), None, steps=3)
    assert np.array_equal(weights["weight"], plain["weight"])


def test_the_server_moves_model_and_variate_by_the_means_of_what_came() -> None:
    # x = mean((2, 0), (4, 2)) = (3, 1); c = 0 + 2/8 mean((1, 2), (3, 6)) = (.5, 1)
    server = scaffold.Server(SETTINGS, model(1, 1))
    server.facts = Facts(clients=8, sampled=2)

    server.add("client1", Package({"samples": 9}, model(2, 0) | variate(1, 2)))
    server.add("client2", Package({"samples": 1}, model(4, 2) | variate(3, 6)))
    server.finish()

    assert values(server.model) == [3, 1]
    assert values(server.variate) == [0.5, 1]
    assert server.model.keys() == {"weight"}, "the variate is no part of the model"


def test_weighted_by_samples_the_models_count_so_and_the_variates_alike() -> None:
    # x = (9 (2, 0) + 1 (4, 2)) / 10 = (2.2, .2); c as above
    server = scaffold.Server(
        scaffold.Settings(rounds=1, eta_g=1.0, weighting="samples"), model(1, 1)
    )
    server.facts = Facts(clients=8, sampled=2)

    server.add("client1", Package({"samples": 9}, model(2, 0) | variate(1, 2)))
    server.add("client2", Package({"samples": 1}, model(4, 2) | variate(3, 6)))
    server.finish()

    assert values(server.model) == pytest.approx([2.2, 0.2])
    assert values(server.variate) == [0.5, 1]


def test_eta_g_is_the_root_of_the_number_drawn_when_left_out() -> None:
    # Delta = (2, -1), sqrt(4) = 2
    server = scaffold.Server(scaffold.Settings(rounds=1), model(1, 1))
    server.facts = Facts(clients=8, sampled=4)

    server.add("client1", Package({"samples": 1}, model(3, 0) | variate(0, 0)))
    server.finish()

    assert values(server.model) == [5, -1]


def test_a_client_sends_how_its_variate_changed_and_keeps_the_new_one() -> None:
    client = scaffold.Client(SETTINGS)
    first = sent(model(0, 0) | variate(0, 0))
    client.work(first)
    client.reply(first, result(model(1, 1), model(0.5, -0.5)))

    work = client.work(first)
    answer = client.reply(first, result(model(2, 2), model(0.75, 0)))

    assert values(work.tensors, "rule/weight") == [0.5, -0.5]
    assert values(answer.tensors) == [2, 2]
    assert values(answer.tensors, "variate/weight") == [0.25, 0.5]
    assert values(client.state_to_keep()) == [0.75, 0]


def test_with_momentum_steps_count_what_they_move() -> None:
    # a constant g with momentum .5: velocities g, 1.5 g, 1.75 g
    assert scaffold.effective_steps(3, 0.0) == 3
    assert scaffold.effective_steps(3, 0.5) == pytest.approx(1 + 1.5 + 1.75)


def test_both_ways_carry_twice_what_fedavg_sends() -> None:
    server, plain = scaffold.Server(SETTINGS, model(1, 1)), fedavg.Settings(rounds=1)
    down = server.outgoing("client1").tensors
    usual = fedavg.Server(plain, model(1, 1)).outgoing("client1").tensors

    assert sum(t.nbytes for t in down.values()) == 2 * sum(t.nbytes for t in usual.values())
    shapes = server.update_shapes({"weight": ("float32", (2, 1))})
    assert shapes == {
        "weight": ("float32", (2, 1)),
        "variate/weight": ("float32", (2, 1)),
    }


def test_statistics_of_batch_normalisation_have_no_variate() -> None:
    tensors = {"bn.weight": np.ones(1, np.float32), "bn.running_mean": np.ones(1, np.float32)}
    server = scaffold.Server(SETTINGS, tensors)

    assert server.variate.keys() == {"bn.weight"}
    assert len(server.outgoing("client1").tensors) == 3
