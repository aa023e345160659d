"""Models: sizes the papers state, seeded weights, and weights as named arrays."""

import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

from contracts.errors import BadInput
from learning.models import registry as models
from learning.models.lenet import Convolution


@pytest.mark.parametrize(
    ("name", "channels", "size", "classes", "parameters"),
    [
        ("lenet5", 1, 28, 10, 61_706),
        ("fsl-emnist-cnn", 1, 28, 45, 320 + 18_496 + 1_384_576 + 5_805),
        ("fsl-emnist-cnn", 1, 28, 47, 320 + 18_496 + 1_384_576 + 6_063),
        ("fsl-emnist-cnn", 3, 32, 10, 896 + 18_496 + 1_843_328 + 1_290),
        ("fsl-cifar-cnn", 3, 32, 10, 545_098),
        ("fsl-cifar-cnn", 1, 28, 10, 320 + 18_496 + 401_536 + 1_290),
        ("multicell-cnn", 1, 28, 10, 1_663_370),
        ("multicell-cnn", 3, 32, 9, 2_155_977),
        ("fedrl-cnn", 1, 28, 10, 34_622),
        ("lenet5", 3, 32, 10, 62_006),  # also MOON's, which FedRL has for CIFAR-10
        ("resnet18", 3, 32, 10, 11_173_962),
        ("resnet50", 3, 32, 100, 23_705_252),
        ("tiny-mlp", 1, 28, 10, 12_730),
    ],
)
def test_model_has_the_stated_number_of_parameters(
    name: str, channels: int, size: int, classes: int, parameters: int
) -> None:
    module = models.build(name, (channels, size, size), classes, seed=0)
    assert sum(p.numel() for p in module.parameters()) == parameters
    assert module(torch.zeros(2, channels, size, size)).shape == (2, classes)


def _multicell_stack() -> list[torch.nn.Module]:
    return [
        torch.nn.Conv2d(3, 32, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(4096, 512),
        torch.nn.ReLU(),
        torch.nn.Linear(512, 9),
    ]


def _fsl_emnist_stack() -> list[torch.nn.Module]:
    """FSL, appendix B-A, table II."""
    return [
        torch.nn.Conv2d(1, 32, 3, padding="same"),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Dropout(0.25),
        torch.nn.Flatten(),
        torch.nn.Linear(10816, 128),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(128, 45),
    ]


def _fsl_cifar_stack() -> list[torch.nn.Module]:
    """FSL, appendix B-A, table III."""
    return [
        torch.nn.Conv2d(3, 32, 3, padding="same"),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3, padding="same"),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Dropout(0.25),
        torch.nn.Flatten(),
        torch.nn.Linear(4096, 128),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(128, 10),
    ]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("name", "shape", "classes", "layers"),
    [
        ("multicell-cnn", (3, 32), 9, _multicell_stack),
        ("fsl-emnist-cnn", (1, 28), 45, _fsl_emnist_stack),
        ("fsl-cifar-cnn", (3, 32), 10, _fsl_cifar_stack),
    ],
)
def test_cnn_is_the_papers_stack_of_layers(
    name: str,
    shape: tuple[int, int],
    classes: int,
    layers: Callable[[], list[torch.nn.Module]],
    training: bool,
) -> None:
    channels, size = shape
    ours = models.build(name, (channels, size, size), classes, seed=0).train(training)
    stack = torch.nn.Sequential(*layers()).train(training)
    stack.load_state_dict(dict(zip(stack.state_dict(), ours.state_dict().values(), strict=True)))
    images = torch.randn(3, channels, size, size, generator=torch.Generator().manual_seed(1))
    outputs = []
    for module in (ours, stack):
        torch.manual_seed(2)  # the same units are dropped in both
        outputs.append(module(images))
    torch.testing.assert_close(*outputs)


@pytest.mark.parametrize("batch", [1, 10, 32])
@pytest.mark.parametrize("padding", [0, 2])
def test_convolution_equals_the_stock_layer_for_images_in_any_memory_order(
    batch: int, padding: int
) -> None:
    torch.manual_seed(0)
    ours, stock = (c(6, 16, 5, padding=padding) for c in (Convolution, torch.nn.Conv2d))
    stock.load_state_dict(ours.state_dict())
    images = torch.randn(6, batch, 14, 14, requires_grad=True)
    results = []
    for layer in (ours, stock):
        outputs = layer(images.transpose(0, 1))
        wanted = [images, *layer.parameters()]
        results.append([outputs, *torch.autograd.grad(outputs.square().mean(), wanted)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = models.export_weights(models.build("lenet5", (1, 28, 28), 10, seed=7))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    again = models.export_weights(models.build("lenet5", (1, 28, 28), 10, seed=7))
    other = models.export_weights(models.build("lenet5", (1, 28, 28), 10, seed=8))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["conv1.weight"], other["conv1.weight"])


def test_export_keeps_order_and_statistics_but_not_the_batch_counter() -> None:
    module = models.build("resnet18", (3, 32, 32), 10, seed=0)
    exported = models.export_weights(module)
    assert list(exported) == [n for n in module.state_dict() if "num_batches_tracked" not in n]
    assert "layer1.0.bn1.running_mean" in exported
    assert all(array.dtype == np.float32 for array in exported.values())


def test_exported_weights_do_not_follow_the_module() -> None:
    module = models.build("tiny-mlp", (1, 28, 28), 10, seed=0)
    exported = models.export_weights(module)
    kept = {name: array.copy() for name, array in exported.items()}
    for parameter in module.parameters():
        parameter.data += 1
    assert all(np.array_equal(exported[name], kept[name]) for name in kept)


def test_weights_load_from_read_only_arrays_and_beside_names_of_others() -> None:
    tensors = models.export_weights(models.build("lenet5", (1, 28, 28), 10, seed=1))
    for array in tensors.values():
        array.flags.writeable = False
    tensors["rule/extra"] = np.zeros(3, np.float32)
    module = models.build("lenet5", (1, 28, 28), 10, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models.load_weights(module, tensors)
    assert np.array_equal(models.export_weights(module)["fc3.weight"], tensors["fc3.weight"])


def test_weights_of_another_shape_are_not_broadcast() -> None:
    module = models.build("tiny-mlp", (1, 28, 28), 10, seed=0)
    tensors = models.export_weights(module)
    tensors["1.bias"] = np.zeros(1, np.float32)
    with pytest.raises(ValueError, match="has shape"):
        models.load_weights(module, tensors)


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("lenet", 28, 'task.model: unknown model "lenet"; did you mean "lenet5"'),
        ("lenet5", 96, "task.model: lenet5 takes images of 28x28 or 32x32"),
    ],
)
def test_impossible_model_is_refused_in_one_sentence(name: str, size: int, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        models.build(name, (1, size, size), 10, seed=0)
    assert message in str(caught.value)


def test_names_are_known_without_torch() -> None:
    check = (
        "import sys, learning.models.registry, learning.models.flops, protocols.local_rules; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
