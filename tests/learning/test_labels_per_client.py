"""Partition labels-per-client: C labels each, as many samples of every one, all labels used."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import BadInput
from learning.data import partitions
from scenarios import loader
from tests.support.scenario_trees import star_scenario

TEN = np.random.default_rng(4).permutation(np.arange(2_000) % 10)


def _make(
    chosen: int,
    clients: int,
    samples: int | None = None,
    labels: np.ndarray = TEN,
    seed: int = 1,
    shared: bool = False,
) -> list[np.ndarray]:
    return partitions.make(
        "labels-per-client", labels, clients, samples, None, seed, shared, labels_each=chosen
    )


def _table(parts: list[np.ndarray], labels: np.ndarray = TEN) -> np.ndarray:
    """A row for each client: how many samples of each label."""
    classes = int(labels.max()) + 1
    return np.stack([np.bincount(labels[part], minlength=classes) for part in parts])


@pytest.mark.parametrize("chosen", [1, 2, 5, 10])
def test_all_data_are_shared_out_when_they_divide(chosen: int) -> None:
    table = _table(_make(chosen, clients=10))
    assert (table.sum(axis=1) == 200).all()
    assert ((table > 0).sum(axis=1) == chosen).all()
    assert set(np.unique(table)) <= {0, 200 // chosen}
    assert ((table > 0).sum(axis=0) == chosen).all(), "every label has as many clients"


@settings(deadline=None, max_examples=40)
@given(
    classes=st.integers(1, 6),
    chosen=st.integers(1, 6),
    clients=st.integers(1, 12),
    samples=st.one_of(st.none(), st.integers(6, 20)),
    seed=st.integers(0, 2**32),
)
def test_no_sample_is_dealt_twice_and_labels_differ_by_one_taker(
    classes: int, chosen: int, clients: int, samples: int | None, seed: int
) -> None:
    chosen = min(chosen, classes)
    labels = np.arange(classes * 240) % classes
    parts = _make(chosen, clients, samples, labels, seed)
    everything = np.concatenate(parts)
    assert len(np.unique(everything)) == len(everything)
    table = _table(parts, labels)
    assert ((table > 0).sum(axis=1) == chosen).all()
    takers = (table > 0).sum(axis=0)
    assert takers.max() - takers.min() <= 1
    if samples is not None:
        assert (table.sum(axis=1) == samples).all()
        used = table[table > 0]
        assert used.max() - used.min() <= 1


def test_what_does_not_divide_goes_by_largest_remainders() -> None:
    # 20 = 3 x 6 + 2: two labels with 7 samples and one with 6.
    for row in _table(_make(3, clients=6, samples=20)):
        assert sorted(row[row > 0]) == [6, 7, 7]


def test_labels_that_do_not_divide_share_out_all_samples_in_roughly_equal_sizes() -> None:
    # 23 clients with one of ten labels: three labels with three takers, seven with two.
    table = _table(_make(1, clients=23))
    assert table.sum() == 2_000
    sizes, counts = np.unique(table.sum(axis=1), return_counts=True)
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {66: 3, 67: 6, 100: 14}


def test_a_thousand_clients_of_the_paper_take_the_whole_training_set() -> None:
    labels = np.arange(50_000) % 10  # FSL, section V-C: (N, n_i) = (1000, 50) for CIFAR-10
    table = _table(_make(2, 1_000, 50, labels), labels)
    assert (np.sort(table, axis=1)[:, -2:] == 25).all()
    assert (table.sum(axis=0) == 5_000).all()


def test_all_labels_at_each_client_is_balanced_also_when_the_last_sample_is_needed() -> None:
    labels = np.arange(108_000) % 45  # FSL, section V-C: (N, n_i) = (450, 240) for EMNIST
    table = _table(_make(45, 450, 240, labels), labels)
    assert set(np.unique(table)) == {5, 6}
    assert (table.sum(axis=0) == 2_400).all()


def test_which_labels_a_client_has_is_drawn_at_random() -> None:
    pairs = {tuple(np.flatnonzero(_table(_make(2, 5, 20, seed=s))[0])) for s in range(30)}
    assert len(pairs) > 15


def test_unequal_stocks_beyond_need_do_not_favour_a_label() -> None:
    labels = np.repeat([0, 1, 2, 3], [500, 300, 200, 400])
    table = _table(_make(1, 8, 10, labels), labels)
    assert table.sum(axis=0).tolist() == [20, 20, 20, 20]


def test_clients_that_share_samples_draw_labels_of_their_own() -> None:
    labels = np.repeat([0, 1, 2, 3], [500, 300, 200, 400])
    table = _table(_make(2, 40, 100, labels, shared=True), labels)
    assert (np.sort(table, axis=1) == [0, 0, 50, 50]).all()
    assert ((table > 0).sum(axis=0) > 5).all()


@pytest.mark.parametrize(
    ("chosen", "clients", "samples", "message"),
    [
        (11, 5, 20, r"task.labels_per_client: 11 labels of 10; ask for at most 10"),
        (5, 5, 4, r"task.labels_per_client: 5 labels for clients with 4 samples; ask for fewer"),
        (10, 500, None, r"task.labels_per_client: 10 labels for clients with 4 samples"),
        (1, 11, 150, r"of label \d the clients need 300 samples and there are 200; ask for fewer"),
        (2, 11, 190, r"task.samples_per_client: 11 clients with 190 samples each need 2090"),
    ],
)
def test_impossible_numbers_are_refused_in_one_sentence(
    chosen: int, clients: int, samples: int | None, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        _make(chosen, clients, samples)


def test_a_label_too_scarce_for_all_clients_is_refused() -> None:
    labels = np.repeat([0, 1], [3, 100])
    with pytest.raises(BadInput, match="of label 0 the clients need 10 samples and there are 3"):
        _make(2, 10, None, labels)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"partition": "labels-per-client"}, "task.labels_per_client: missing; this partition"),
        (
            {"partition": "iid", "labels_per_client": 2},
            'task.labels_per_client: partition "iid" does',
        ),
        ({"partition": "labels-per-client", "labels_per_client": 0}, "task.labels_per_client: "),
    ],
)
def test_the_key_belongs_to_the_partition(task: dict[str, object], message: str) -> None:
    tree = star_scenario(task={"dataset": "tiny", "model": "lenet5", **task})
    with pytest.raises(BadInput, match=message):
        loader.check(tree)
