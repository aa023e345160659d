"""Learning rates by round, against numbers worked out by hand."""

from typing import Any

import pytest

from contracts.training import TrainingSettings
from learning.training.learning_rate import learning_rate_in


def training_with(**keys: Any) -> TrainingSettings:
    fixed: dict[str, Any] = {"batch_size": 10, "momentum": 0.0, "weight_decay": 0.0}
    return TrainingSettings(shuffle=True, **fixed, **keys)


@pytest.mark.parametrize(
    ("keys", "local_round", "expected"),
    [
        ({"learning_rate": 0.02}, 1, 0.02),
        ({"learning_rate": 0.02}, 500, 0.02),
        ({"learning_rate": 0.02, "learning_rate_decay": 1.0, "learning_rate_drops": ()}, 7, 0.02),
        ({"learning_rate": 0.001, "learning_rate_decay": 0.995}, 1, 0.001),
        ({"learning_rate": 0.001, "learning_rate_decay": 0.995}, 2, 0.000995),
        ({"learning_rate": 0.001, "learning_rate_decay": 0.995}, 3, 0.000990025),
        ({"learning_rate": 0.8, "learning_rate_decay": 0.5}, 4, 0.1),
        ({"learning_rate": 0.8, "learning_rate_decay": 0.5, "learning_rate_drops": (3,)}, 4, 0.01),
        ({"learning_rate": 0.1, "learning_rate_drops": (5, 5)}, 5, 0.001),
    ],
)
def test_rate_decays_after_every_round_and_drops_at_some(
    keys: dict[str, Any], local_round: int, expected: float
) -> None:
    assert learning_rate_in(training_with(**keys), local_round) == pytest.approx(
        expected, rel=1e-15, abs=0
    )


@pytest.mark.parametrize(
    ("local_round", "expected"), [(1, 0.01), (39, 0.01), (40, 0.001), (79, 0.001), (80, 0.0001)]
)
def test_drops_give_exactly_the_rates_one_would_write_down(
    local_round: int, expected: float
) -> None:
    training = training_with(learning_rate=0.01, learning_rate_drops=(40, 80))
    assert learning_rate_in(training, local_round) == expected


def test_decay_alone_is_the_plain_product() -> None:
    training = training_with(learning_rate=0.001, learning_rate_decay=0.995)
    assert learning_rate_in(training, 3) == 0.001 * 0.995**2
