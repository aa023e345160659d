"""FedRL's review: its loss by hand, the layers it goes through, and what it costs."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from contracts.messages import EPOCHS, GLOBAL_ROUND
from learning.models import flops
from learning.training.context import TrainingContext
from learning.training.sgd import train
from protocols import fedprox, fedrl, layers
from protocols.base import Package
from protocols.costs import StepCosts
from tests.support.local_training import PARTITION, TINY, context_of, task_of


def rule_of(**readings: Any) -> fedrl.LocalRule:
    return fedrl.LocalRule({"mu": 0.5} | readings)


class TwoLayers(nn.Module):
    """y = 2 x, z = -y, without biases."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (nn.Linear(1, 1, bias=False) for _ in range(2))
        nn.init.constant_(self.first.weight, 2.0)
        nn.init.constant_(self.second.weight, -1.0)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.second(self.first(x))
        return outputs


def review(rule: fedrl.LocalRule, model: nn.Module, images: Tensor, step: int) -> Tensor:
    loss = rule.extra_loss(model, images, model(images), step)
    assert loss is not None
    return loss


def test_the_loss_is_half_mu_times_the_distance_of_the_batchs_representations() -> None:
    model, rule, images = TwoLayers(), rule_of(), torch.tensor([[3.0], [4.0]])
    with rule.attached_to(model):
        nn.init.constant_(model.first.weight, 4.0)  # the local model moves, the global one stays

        first, second = (review(rule, model, images, step) for step in (0, 1))

    # Layer 0: 2 x against 4 x, apart by (6, 8), a norm of 10. Layer 1: -2 x against -4 x, the same.
    assert first.item() == second.item() == pytest.approx(0.5 / 2 * 10)


@pytest.mark.parametrize(
    ("readings", "step", "distance"),
    [
        ({"distance": "mean"}, 0, (6 + 8) / 2),
        ({"distance": "square"}, 0, 100),
        # Layer 0 gives 2 x and 4 x: negative for negative images, and then rectified.
        ({"activation": "after"}, 0, 10),
        # The logits are negative, and are not rectified.
        ({"activation": "after"}, 1, 10),
        ({"cycle": "round", "round": 2}, 0, 10),
    ],
)
def test_the_other_readings_by_hand(readings: dict[str, Any], step: int, distance: float) -> None:
    model, rule, images = TwoLayers(), rule_of(**readings), torch.tensor([[3.0], [4.0]])
    with rule.attached_to(model):
        nn.init.constant_(model.first.weight, 4.0)

        loss = review(rule, model, images, step)

    assert loss.item() == pytest.approx(0.5 / 2 * distance)


def test_after_the_activation_negative_outputs_do_not_count() -> None:
    model, rule, images = TwoLayers(), rule_of(activation="after"), torch.tensor([[-3.0], [4.0]])
    with rule.attached_to(model):
        nn.init.constant_(model.first.weight, 4.0)

        loss = review(rule, model, images, step=0)

    assert loss.item() == pytest.approx(0.5 / 2 * 8)


@pytest.mark.parametrize(
    ("readings", "asked"),
    [
        ({}, [0, 1, 2, 3, 4, 0, 1]),
        ({"logits": False}, [0, 1, 2, 3, 0, 1, 2]),
        ({"round": 1}, [0] * 7),
        ({"round": 7}, [1] * 7),
        ({"round": 5, "logits": False}, [0] * 7),
    ],
)
def test_which_layer_is_reviewed_when(
    readings: dict[str, Any], asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _layers_asked_for(monkeypatch)
    context = context_of("lenet5")
    task = task_of(context, rule="fedrl", settings={"mu": 0.5} | readings, shuffle=False)

    train(task, context)  # 2 epochs of 7 batches, 5 layers

    assert seen[:7] == asked


def test_a_client_tells_its_rule_how_the_print_is_read() -> None:
    settings = fedrl.Settings(rounds=9, mu=0.5, cycle="round", logits=False)

    work = fedrl.Client(settings).work(Package({EPOCHS: 1, GLOBAL_ROUND: 4}))

    assert work.settings == {"mu": 0.5, "logits": False, "round": 4}


def test_a_reading_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="distance must be norm or mean or square"):
        fedrl.Settings(rounds=1, distance="cosine")


def test_its_gradient_reaches_the_reviewed_layer_and_those_before_it() -> None:
    model, rule, images = TwoLayers(), rule_of(), torch.tensor([[3.0], [4.0]])
    with rule.attached_to(model):
        nn.init.constant_(model.first.weight, 4.0)
        review(rule, model, images, step=0).backward()
    first, second = model.first.weight.grad, model.second.weight.grad

    # The distance is 5 |w - 2| for the images (3, 4), so mu/2 * 5
    assert first is not None
    assert first.item() == pytest.approx(1.25)
    assert second is None


def test_equal_models_give_a_gradient_of_zero_and_no_nan() -> None:
    model, rule = TwoLayers(), rule_of()
    with rule.attached_to(model):
        loss = review(rule, model, torch.tensor([[3.0]]), step=0)
        loss.backward()

    assert loss.item() == 0
    assert model.first.weight.grad is not None
    assert model.first.weight.grad.item() == 0


def _layers_asked_for(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every layer is added whose representation the rule asks for."""
    asked: list[int] = []
    found = layers.representation

    def asking(module: nn.Module, images: Tensor, layer: int) -> Tensor:
        asked.append(layer)
        return found(module, images, layer)

    monkeypatch.setattr(layers, "representation", asking)
    return asked


def test_the_reviewed_layer_advances_with_every_batch_and_wraps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = _layers_asked_for(monkeypatch)
    context = context_of("lenet5")
    task = task_of(context, rule="fedrl", settings={"mu": 0.01}, shuffle=False)

    train(task, context)  # 2 epochs of 7 batches, 5 layers
    train(task, context)

    once = [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert asked == once + once  # every training starts at the first layer again


def test_only_the_first_layers_of_the_global_model_are_run() -> None:
    run: list[str] = []

    class Named(nn.Linear):
        def __init__(self, name: str) -> None:
            super().__init__(2, 2)
            self.name = name

        def forward(self, x: Tensor) -> Tensor:
            run.append(self.name)
            return super().forward(x)

    model = nn.Sequential(Named("a"), nn.ReLU(), Named("b"), Named("c"))
    rule = rule_of()
    with rule.attached_to(model):
        for step in range(3):
            run.append(f"step {step}:")
            review(rule, model, torch.ones(1, 2), step)

    # First the local model's whole pass, then as much of the global one's.
    assert " ".join(run) == "step 0: a b c a step 1: a b c a b step 2: a b c a b c"


def test_training_leaves_no_hook_behind_and_the_global_model_as_it_came() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.BatchNorm1d(8), nn.Linear(8, 10))
    context = TrainingContext(TINY, PARTITION, module)
    task = task_of(context, rule="fedrl", settings={"mu": 0.01})
    before = {name: tensor.copy() for name, tensor in task.tensors.items()}

    result = train(task, context)

    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    assert all(np.array_equal(task.tensors[name], array) for name, array in before.items())
    assert all(np.isfinite(tensor).all() for tensor in result.tensors.values())


def test_a_strong_review_keeps_representations_near_the_global_models() -> None:
    def moved(**rule: Any) -> float:
        context = context_of("tiny-mlp")
        task = task_of(context, momentum=0.0, **rule)
        end = train(task, context).tensors
        return float(np.linalg.norm(end["1.weight"] - task.tensors["1.weight"]))

    assert moved(rule="fedrl", settings={"mu": 0.5}) < 0.9 * moved()


def test_a_step_costs_the_global_models_first_layers_and_five_operations_a_number() -> None:
    costs = StepCosts(parameters=9, batch_size=2, forward=(100, 300), representations=(20, 4))

    assert fedrl.extra_flops(costs) == [100 + 5 * 20, 300 + 5 * 4]


@pytest.mark.parametrize(("model", "channels", "size"), [("fedrl-cnn", 1, 28), ("lenet5", 3, 32)])
def test_our_counter_puts_fedprox_between_fedavg_and_fedrl(
    model: str, channels: int, size: int
) -> None:
    """The paper's Table 3 has it above FedRL: docs/fedrl.md says why."""
    shape = (channels, size, size)
    costs = flops.step_costs(model, shape, 10, 32)
    step = flops.training_flops(model, shape, 10, 32)

    reviews, (pull,) = fedrl.extra_flops(costs), fedprox.extra_flops(costs)

    assert len(reviews) == len(costs.forward)
    assert 0 < pull < 0.01 * step
    assert 0.2 * step < sum(reviews) / len(reviews) < 0.5 * step
    assert (
        reviews[-1]
        > costs.forward[-1]
        == flops.forward_flops(model, (channels, size, size), 10, 32)
    )
