"""FedDyn on a model of two parameters, worked out by hand."""

import numpy as np
import pytest

from contracts.training import Result
from protocols import feddyn
from protocols.base import Facts, Package, Tensors
from tests.support.two_parameters import model, trained, values

SETTINGS = feddyn.Settings(rounds=1, alpha=0.5)


def own(first: float, second: float) -> Tensors:
    return {f"rule/{name}": tensor for name, tensor in model(first, second).items()}


def result(weights: Tensors) -> Result:
    return Result(weights, samples=1, steps=1, loss=0.0, host_seconds=0.0)


def test_the_first_step_goes_along_the_gradient_less_h() -> None:
    # g - h = (-1 - .2, 1 + .4) at w = w_t: w = -.1 (-1.2, 1.4)
    rule = feddyn.LocalRule({"alpha": 0.5})

    weights, _ = trained(model(0, 0), rule, own(0.2, -0.4))

    assert values(weights) == pytest.approx([0.12, -0.14])


def test_the_second_step_is_also_pulled_back_to_where_it_began() -> None:
    # w = (.1, -.1) after one step with h = 0. Scores 2 w = (.2, -.2): p_0 = 1 / (1 + exp(-.4)) =
    # .5986877, g = 2 (p_0 - 1, p_1) = (-.8026246, .8026246), and alpha (w - w_t) = (.05, -.05)
    rule = feddyn.LocalRule({"alpha": 0.5})

    weights, _ = trained(model(0, 0), rule, own(0, 0), steps=2)

    step = 0.1 * (0.8026246 - 0.05)
    assert values(weights) == pytest.approx([0.1 + step, -0.1 - step], rel=1e-5)


def test_a_client_keeps_h() -> None:
    # h = 0 - .5 ((2, 1) - (1, 1)) = (-.5, 0); then -.5 - .5 (3 - 1), 0 - .5 (0 - 1)
    client = feddyn.Client(SETTINGS)
    package = Package({"epochs": 1}, model(1, 1))
    client.work(package)
    client.reply(package, result(model(2, 1)))
    assert values(client.state_to_keep()) == [-0.5, 0]

    restarted = feddyn.Client(SETTINGS)
    restarted.restore_state(client.state_to_keep())
    work = restarted.work(package)
    restarted.reply(package, result(model(3, 0)))

    assert values(work.tensors, "rule/weight") == [-0.5, 0]
    assert work.settings == {"alpha": 0.5}
    assert values(restarted.state_to_keep()) == [-1.5, 0.5]


def test_the_server_adds_the_past_over_n() -> None:
    # w_i - w_t = (1, 0) and (3, 2): h = -.5/4 (4, 2) = (-.5, -.25); mean (3, 2) - h / .5 = (4, 2.5)
    server = feddyn.Server(SETTINGS, model(1, 1))
    server.facts = Facts(clients=4, sampled=2)

    server.add("client1", Package({"samples": 9}, model(2, 1)))
    server.add("client2", Package({"samples": 1}, model(4, 3)))
    server.finish()

    assert values(server.h) == [-0.5, -0.25]
    assert values(server.model) == [4, 2.5]


def test_updates_of_zero_change_nothing() -> None:
    server = feddyn.Server(SETTINGS, model(1, 1))
    server.facts = Facts(clients=4, sampled=1)

    server.add("client1", Package({"samples": 9}, model(1, 1)))
    server.finish()

    assert values(server.model) == [1, 1]
    assert values(server.h) == [0, 0]


def test_with_a_vanishing_alpha_a_client_trains_as_under_fedavg() -> None:
    weights, _ = trained(model(0.5, 0), feddyn.LocalRule({"alpha": 1e-12}), own(0, 0), steps=3)

    plain, _ = trained(model(0.5, 0), None, steps=3)
    assert np.allclose(weights["weight"], plain["weight"], rtol=1e-6)


def test_with_a_vanishing_alpha_the_server_still_adds_the_past() -> None:
    # mean (3, 2) + 2/4 (mean - w_t) = (3, 2) + (1, .5), whatever alpha is
    server = feddyn.Server(feddyn.Settings(rounds=1, alpha=1e-12), model(1, 1))
    server.facts = Facts(clients=4, sampled=2)

    for weights in (model(2, 1), model(4, 3)):
        server.add("client", Package({"samples": 1}, weights))
    server.finish()

    assert values(server.model) == [4, 2.5]


def test_alpha_must_be_above_zero() -> None:
    with pytest.raises(ValueError, match="alpha"):
        feddyn.Settings(rounds=1, alpha=0.0)
