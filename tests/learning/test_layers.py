"""A model layer by layer: in the order of running, and no further than asked."""

import pytest
import torch
from torch import Tensor, nn

from learning.models import registry as models
from protocols.layers import observe_layers, representation


class Backwards(nn.Module):
    """Runs its layers in another order than it names them."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(2, 3)
        self.inner = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.last(self.inner(images))
        return outputs


def test_layers_with_parameters_are_heard_in_the_order_they_run() -> None:
    heard: list[tuple[int, int]] = []
    model = Backwards()

    with observe_layers(model, lambda number, output: heard.append((number, output.shape[1]))):
        model(torch.zeros(5, 4))
        model(torch.zeros(5, 4))
    model(torch.zeros(5, 4))

    assert heard == 2 * [(0, 4), (1, 2), (2, 3)]


def test_a_tap_is_taken_out_also_when_the_pass_breaks_off() -> None:
    model = Backwards()

    def refuse(_number: int, _output: Tensor) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), observe_layers(model, refuse):
        model(torch.zeros(5, 4))

    assert model(torch.zeros(5, 4)).shape == (5, 3)


def test_layers_after_the_one_asked_for_are_not_run() -> None:
    model, run = models.build("lenet5", (1, 28, 28), 10, seed=0), []
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda *_, name=name: run.append(name))
    images = torch.randn(3, 1, 28, 28)

    found = representation(model, images, 2)

    assert run == ["conv1", "conv2", "fc1"]
    assert found.shape == (3, 120)
    assert torch.equal(representation(model, images, 4), model(images))


def test_a_layer_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no layer 3"):
        representation(Backwards(), torch.zeros(5, 4), 3)
