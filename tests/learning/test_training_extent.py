"""What a task trains on, and how long: shared samples beside the own, the server's, K steps."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from contracts.training import EXTRA_IMAGES, EXTRA_LABELS, SERVER, Task
from learning.data import datasets
from learning.models import registry as models
from learning.training.context import TrainingContext
from learning.training.sgd import train
from learning.workers.task_files import read_task, write_task
from protocols.local_rules import LocalRule

torch.set_num_threads(1)

TINY = datasets.load("tiny", None)
OWN, EXTRA = np.arange(33), np.arange(33, 50)
MODELS = ["lenet5", "tiny-mlp"]  # LeNet-5 goes through C where there is a compiler


def _context(model: str, part: np.ndarray = OWN, **options: Any) -> TrainingContext:
    return TrainingContext(TINY, [part], models.build(model, (1, 28, 28), 10, seed=3), **options)


def _task(context: TrainingContext, **changes: Any) -> Task:
    weights = models.export_weights(context.module)
    task = Task("job", 0, 2, 10, 0.02, 0.9, 1e-3, True, 11, "", {}, weights)
    return replace(task, **changes)


def _with_extra(task: Task, indices: np.ndarray = EXTRA) -> Task:
    extra = {
        EXTRA_IMAGES: TINY.train_inputs[indices],
        EXTRA_LABELS: TINY.train_labels[indices],
    }
    return replace(task, tensors=task.tensors | extra)


@pytest.mark.parametrize("model", MODELS)
def test_shared_samples_train_as_if_they_were_the_clients_own(model: str) -> None:
    whole, own = _context(model, np.concatenate([OWN, EXTRA])), _context(model)

    expected = train(_task(whole), whole)
    result = train(_with_extra(_task(own)), own)

    assert (result.samples, result.steps) == (50, 10)
    assert list(result.tensors) == list(expected.tensors), "shared samples are no weights"
    for name, array in expected.tensors.items():
        assert array.tobytes() == result.tensors[name].tobytes()
    assert train(_task(own), own).samples == 33, "the next task has only its own"


def test_shared_samples_can_train_beside_a_local_rule() -> None:
    context = _context("lenet5")
    result = train(_with_extra(_task(context)), context, rule=LocalRule())
    assert result.samples == 50
    assert set(result.tensors) == set(models.export_weights(context.module))


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        (EXTRA_IMAGES, np.zeros((17, 1, 32, 32), np.uint8), "the shared inputs are uint8"),
        (EXTRA_IMAGES, np.zeros((17, 1, 28, 28), np.float32), "the shared inputs are float32"),
        (EXTRA_IMAGES, np.zeros((16, 1, 28, 28), np.uint8), "the shared inputs are uint8"),
        (EXTRA_LABELS, np.full(17, 10), "the shared labels are not a row of int64 below 10"),
        (EXTRA_LABELS, np.full(17, -1), "the shared labels are not a row of int64 below 10"),
        (EXTRA_LABELS, np.zeros(17, np.int32), "the shared labels are not a row of int64"),
    ],
)
def test_shared_samples_that_do_not_fit_are_refused(
    name: str, array: np.ndarray, message: str
) -> None:
    context = _context("lenet5")
    task = _with_extra(_task(context))
    task.tensors[name] = array
    with pytest.raises(ValueError, match=message):
        train(task, context)


def test_the_server_trains_on_its_own_samples() -> None:
    samples = TINY.train_inputs[EXTRA], TINY.train_labels[EXTRA]
    client, server = _context("lenet5", EXTRA), _context("lenet5", server=samples)

    expected = train(_task(client), client)
    result = train(_task(server, client=SERVER), server)

    assert (result.samples, result.loss) == (17, expected.loss)


# 33 samples are 4 batches of 10, 10, 10 and 3.


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("steps", "done"), [(0, 8), (1, 1), (3, 3), (4, 4), (5, 5), (7, 7), (8, 8), (100, 8)]
)
def test_training_ends_after_the_steps_it_was_given(model: str, steps: int, done: int) -> None:
    context = _context(model)
    assert train(_task(context, steps=steps), context).steps == done


@pytest.mark.parametrize("model", MODELS)
def test_a_whole_number_of_epochs_in_steps_is_that_number_of_epochs(model: str) -> None:
    context = _context(model)
    task = _task(context)
    by_steps, by_epochs, all_steps, both = (
        train(replace(task, steps=steps, epochs=epochs), context)
        for steps, epochs in ((4, 3), (0, 1), (8, 2), (0, 2))
    )
    for name, array in by_epochs.tensors.items():
        assert array.tobytes() == by_steps.tensors[name].tobytes()
        assert both.tensors[name].tobytes() == all_steps.tensors[name].tobytes()
    assert by_steps.loss == by_epochs.loss


@pytest.mark.parametrize("model", MODELS)
def test_steps_amid_an_epoch_are_its_first_batches(model: str) -> None:
    # Unshuffled, two of the four batches are the first 20 samples, and their mean loss is theirs.
    short, context = _context(model, OWN[:20]), _context(model)
    expected = train(_task(short, shuffle=False, epochs=1), short)
    result = train(_task(context, shuffle=False, steps=2), context)
    for name, array in expected.tensors.items():
        assert array.tobytes() == result.tensors[name].tobytes()
    assert result.loss == expected.loss
    assert result.samples == 33, "what the client has, not what it got to"


def test_an_epoch_and_a_part_of_lenet_keep_their_momentum() -> None:
    """C does epochs of one length only: here torch goes on, and must give the same numbers.

    30 samples are 3 batches: five steps are one epoch of these and the first 20 again.
    """
    cut, row = _context("lenet5", OWN[:30]), _context("lenet5", np.r_[OWN[:30], OWN[:20]])
    result = train(_task(cut, shuffle=False, steps=5), cut)
    whole = train(_task(row, shuffle=False, epochs=1), row)
    for name, array in whole.tensors.items():
        np.testing.assert_allclose(result.tensors[name], array, rtol=1e-4, atol=1e-6)


def test_steps_and_shared_samples_survive_the_spool(tmp_path: Path) -> None:
    task = _with_extra(_task(_context("tiny-mlp"), steps=3))
    write_task(tmp_path / "job.task", task)
    read = read_task(tmp_path / "job.task")
    assert read.steps == 3
    np.testing.assert_array_equal(read.tensors[EXTRA_LABELS], TINY.train_labels[EXTRA])
    assert read.tensors[EXTRA_IMAGES].dtype == np.uint8
