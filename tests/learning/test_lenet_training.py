"""LeNet-5 in C against LeNet-5 in torch: the same numbers, and torch where there is no compiler."""

from pathlib import Path

import numpy as np
import pytest
import torch

from contracts.training import Task
from learning.models import registry as models
from learning.training import compiled_c, lenet_in_c
from learning.training.sgd import train_with_torch

torch.set_num_threads(1)


def task(batch_size: int = 10, momentum: float = 0.9, weight_decay: float = 1e-3) -> Task:
    return Task(
        *("job", 0, 2, batch_size, 0.05, momentum, weight_decay, True, 1, ""),
        settings={},
        tensors={},
    )


def trained(
    channels: int, size: int, classes: int, what: Task, in_c: bool, count: int = 33
) -> tuple[np.ndarray, float]:
    """All weights after two epochs of random images, and the last one's loss."""
    draws = torch.Generator().manual_seed(5)
    images = torch.randn(count, channels, size, size, generator=draws)
    labels = torch.randint(0, classes, (count,), generator=draws)
    order = torch.stack([torch.randperm(count, generator=draws) for _ in range(2)])
    module = models.build("lenet5", (channels, size, size), classes, seed=3)
    if in_c:
        assert lenet_in_c.can_train(module, (channels, size, size), classes)
        loss = lenet_in_c.train(module, images, labels, order, what)
    else:
        loss, _ = train_with_torch(module, images, labels, order, what, None)
    return np.concatenate([p.detach().numpy().ravel() for p in module.parameters()]), loss


@pytest.mark.parametrize(
    ("channels", "size", "classes"), [(1, 28, 10), (3, 32, 10), (1, 28, 47), (1, 32, 2)]
)
def test_every_shape_of_image_gives_what_torch_gives(
    channels: int, size: int, classes: int
) -> None:
    ours, loss = trained(channels, size, classes, task(), in_c=True)
    torchs, expected = trained(channels, size, classes, task(), in_c=False)

    np.testing.assert_allclose(ours, torchs, rtol=1e-3, atol=1e-5)
    assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("batch_size", [1, 7, 33, 100])
@pytest.mark.parametrize(("momentum", "weight_decay"), [(0.0, 0.0), (0.9, 0.0), (0.0, 1e-2)])
def test_every_batch_size_momentum_and_decay_gives_what_torch_gives(
    batch_size: int, momentum: float, weight_decay: float
) -> None:
    what = task(batch_size, momentum, weight_decay)
    ours, loss = trained(1, 28, 10, what, in_c=True)
    torchs, expected = trained(1, 28, 10, what, in_c=False)

    np.testing.assert_allclose(ours, torchs, rtol=1e-3, atol=1e-5)
    assert loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("channels", "size", "classes"), [(1, 28, 10), (3, 32, 10), (1, 28, 47)])
def test_inputs_are_classified_as_by_torch(channels: int, size: int, classes: int) -> None:
    module = models.build("lenet5", (channels, size, size), classes, seed=3).eval()
    images = torch.randn(300, channels, size, size, generator=torch.Generator().manual_seed(5))

    ours = lenet_in_c.classify(module, images)

    torch.testing.assert_close(ours, module(images).detach(), rtol=1e-4, atol=1e-5)


def test_the_same_training_gives_the_same_bits() -> None:
    first, again = (trained(1, 28, 10, task(), in_c=True)[0] for _ in range(2))

    assert np.array_equal(first, again)


def test_training_that_diverges_says_so_in_its_numbers() -> None:
    wild = Task("job", 0, 2, 10, 1e9, 0.9, 0.0, True, 1, "", settings={}, tensors={})

    weights, _ = trained(1, 28, 10, wild, in_c=True)

    assert not np.isfinite(weights).all()


@pytest.mark.parametrize("model", ["tiny-mlp", "resnet18"])
def test_other_models_are_left_to_torch(model: str) -> None:
    module = models.build(model, (1, 28, 28), 10, seed=0)

    assert not lenet_in_c.can_train(module, (1, 28, 28), 10)


def test_without_a_compiler_torch_does_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert compiled_c.compiled_library.__wrapped__("lenet5") is None
    assert "no gcc here" in capfd.readouterr().err


def test_what_does_not_compile_is_left_to_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiled_c, "_OPTIONS", ("--no-such-option",))

    assert compiled_c.compiled_library.__wrapped__("lenet5") is None
    assert "torch does the work" in capfd.readouterr().err
    assert not list(tmp_path.rglob("*.so"))


def test_a_batch_larger_than_the_data_takes_no_more_memory_than_the_data() -> None:
    weights, loss = trained(1, 28, 10, task(batch_size=10**9), in_c=True)

    assert np.isfinite(weights).all()
    assert np.isfinite(loss)


@pytest.mark.parametrize(("channels", "size", "classes"), [(4, 28, 10), (1, 96, 10), (1, 28, 65)])
def test_what_does_not_fit_its_arrays_is_left_to_torch(
    channels: int, size: int, classes: int
) -> None:
    module = models.build("lenet5", (1, 28, 28), 10, seed=0)

    assert not lenet_in_c.can_train(module, (channels, size, size), classes)
