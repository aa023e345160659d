"""Costs of a training step: the counted operations, and that they are counted once."""

from pathlib import Path

import pytest

from contracts.errors import BadInput
from learning.models import flops
from learning.models import registry as models

LENET_FORWARD = 2 * (28 * 28 * 6 * 25 + 10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_forward_pass_counts_two_operations_per_multiplication() -> None:
    assert flops.forward_flops("lenet5", (1, 28, 28), 10, 1) == LENET_FORWARD


def test_operations_grow_with_the_batch() -> None:
    one, ten = (flops.training_flops("lenet5", (1, 28, 28), 10, batch) for batch in (1, 10))
    assert ten == 10 * one


def test_training_costs_three_forward_passes_less_the_gradient_of_the_images() -> None:
    first_layer = 2 * 28 * 28 * 6 * 25
    assert flops.training_flops("lenet5", (1, 28, 28), 10, 1) == 3 * LENET_FORWARD - first_layer


def test_multicell_cnn_costs_what_its_layers_multiply() -> None:
    first = 2 * 32 * 32 * 32 * 75
    forward = first + 2 * (16 * 16 * 64 * 800 + 4096 * 512 + 512 * 9)
    assert flops.forward_flops("multicell-cnn", (3, 32, 32), 9, 1) == forward
    assert flops.training_flops("multicell-cnn", (3, 32, 32), 9, 10) == 10 * (3 * forward - first)
    assert flops.model_bytes("multicell-cnn", (3, 32, 32), 9) == 4 * 2_155_977


def test_every_file_that_defines_a_model_counts_as_its_definition() -> None:
    files = [type(models.build(name, (1, 28, 28), 10, seed=0)).__module__ for name in models.MODELS]
    ours = {f"{f.rpartition('.')[2]}.py" for f in files if f.startswith("learning.")}
    assert ours == set(flops.DEFINITIONS) - {"registry.py"}


def test_the_forward_pass_is_counted_layer_by_layer() -> None:
    costs = flops.step_costs("lenet5", (1, 28, 28), 10, 2)

    first = 2 * 28 * 28 * 6 * 25
    second = first + 2 * 10 * 10 * 16 * 150
    third = second + 2 * 400 * 120
    fourth = third + 2 * 120 * 84
    whole = fourth + 2 * 84 * 10
    assert costs.forward == (2 * first, 2 * second, 2 * third, 2 * fourth, 2 * whole)
    assert whole == LENET_FORWARD
    assert costs.representations == (2 * 6 * 28 * 28, 2 * 16 * 10 * 10, 2 * 120, 2 * 84, 2 * 10)
    assert (costs.parameters, costs.batch_size) == (61_706, 2)


def test_a_layer_without_multiplications_of_its_own_costs_what_came_before() -> None:
    costs = flops.step_costs("resnet18", (3, 32, 32), 10, 1)

    convolutions, shortcuts, batch_norms = 1 + 16, 3, 1 + 16 + 3
    assert len(costs.forward) == convolutions + shortcuts + batch_norms + 1
    assert costs.forward[0] == costs.forward[1] == 2 * 32 * 32 * 64 * 27  # BatchNorm comes second
    assert costs.forward[-1] == flops.forward_flops("resnet18", (3, 32, 32), 10, 1)


def test_resnet_costs_about_what_its_authors_say() -> None:
    per_image = flops.forward_flops("resnet18", (3, 32, 32), 10, 1)
    assert per_image == pytest.approx(2 * 0.56e9, rel=0.02)


def test_model_bytes_are_four_per_weight() -> None:
    assert flops.model_bytes("lenet5", (1, 28, 28), 10) == 4 * 61_706
    batch_norm_statistics = 2 * 4_800
    assert flops.model_bytes("resnet18", (3, 32, 32), 10) == 4 * (
        11_173_962 + batch_norm_statistics
    )


def test_second_question_is_answered_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    first = flops.training_flops("tiny-mlp", (1, 28, 28), 10, 8)
    monkeypatch.delattr(flops, "_count")
    assert flops.training_flops("tiny-mlp", (1, 28, 28), 10, 8) == first


def test_unwritable_cache_only_costs_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert flops.forward_flops("tiny-mlp", (1, 28, 28), 10, 1) == 2 * (784 * 16 + 16 * 10)


def test_unknown_model_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown model"):
        flops.training_flops("lenet", (1, 28, 28), 10, 1)
