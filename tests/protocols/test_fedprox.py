"""FedProx: the proximal term's gradient, and FedAvg when it has no weight."""

import numpy as np
import pytest
import torch
from torch import nn

from learning.training.sgd import train
from protocols import fedprox, registry
from protocols.base import Package
from protocols.costs import StepCosts
from tests.support.local_training import context_of, task_of


def test_the_gradient_pulls_towards_the_received_weights() -> None:
    w = nn.Parameter(torch.tensor([1.0, 2.0]))
    rule = registry.method("fedprox").make_local_rule({"mu": 0.1})
    rule.start([("w", w)], task_of(context_of("tiny-mlp")))
    w.data += torch.tensor([0.5, -2.0])
    w.grad = torch.tensor([1.0, 1.0])

    rule.adjust_gradients([("w", w)], step=7)

    # mu (w - w^t) = 0.1 * (0.5, -2)
    torch.testing.assert_close(w.grad, torch.tensor([1.05, 0.8]))


def test_it_is_the_gradient_of_half_mu_times_the_squared_distance() -> None:
    w, w_t = nn.Parameter(torch.tensor([3.0, -1.0])), torch.tensor([1.0, 1.0])
    (0.4 / 2 * (w - w_t).square().sum()).backward()
    expected, w.grad = w.grad, torch.zeros(2)
    rule = registry.method("fedprox").make_local_rule({"mu": 0.4})
    rule.start([("w", nn.Parameter(w_t))], task_of(context_of("tiny-mlp")))

    rule.adjust_gradients([("w", w)], step=0)

    assert expected is not None
    assert torch.equal(w.grad, expected)


def test_a_strong_term_keeps_the_local_model_near_the_global_one() -> None:
    context = context_of("tiny-mlp")
    task = task_of(context)
    prox = {"rule": "fedprox", "settings": {"mu": 3.0}}

    free, held = (
        train(task, context),
        train(task_of(context, tensors=task.tensors, **prox), context),
    )

    moved = [np.linalg.norm(r.tensors["1.weight"] - task.tensors["1.weight"]) for r in (free, held)]
    assert moved[1] < 0.5 * moved[0]


@pytest.mark.parametrize("name", ["fedprox", "fedrl"])
def test_mu_of_zero_is_plain_sgd(name: str) -> None:
    method = registry.method(name)
    package = Package({"epochs": 2}, {})

    plain = method.Client(method.Settings(rounds=1, mu=0.0)).work(package)
    ruled = method.Client(method.Settings(rounds=1, mu=0.5)).work(package)

    assert (plain.rule, plain.settings) == ("", {})
    assert (ruled.epochs, ruled.rule, ruled.settings) == (2, name, {"mu": 0.5})


@pytest.mark.parametrize("name", ["fedprox", "fedrl"])
def test_a_rule_with_mu_of_zero_changes_no_bit(name: str) -> None:
    context = context_of("tiny-mlp")
    task = task_of(context, shuffle=False)

    plain = train(task, context)
    ruled = train(
        task_of(context, shuffle=False, tensors=task.tensors, rule=name, settings={"mu": 0.0}),
        context,
    )

    assert ruled.loss == plain.loss
    for tensor, expected in zip(ruled.tensors.values(), plain.tensors.values(), strict=True):
        assert tensor.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["fedprox", "fedrl"])
def test_a_negative_mu_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="mu must not be negative"):
        registry.method(name).Settings(rounds=1, mu=-0.1)


def test_every_step_costs_three_operations_a_parameter() -> None:
    costs = StepCosts(parameters=1000, batch_size=32, forward=(7, 9), representations=(1, 2))

    assert fedprox.extra_flops(costs) == [3000.0]
