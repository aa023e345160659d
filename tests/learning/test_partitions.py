"""Partitions: exact sizes, disjoint, as skewed as asked, and repeatable."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import BadInput
from learning.data import dirichlet, partitions
from learning.data.deal import Deal

LABELS = np.arange(2_000) % 10


def _largest_class_share(parts: list[np.ndarray]) -> float:
    shares = [np.bincount(LABELS[p], minlength=10).max() / len(p) for p in parts]
    return float(np.mean(shares))


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(["iid", "dirichlet"]),
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=80),
    clients=st.integers(1, 12),
    wish=st.one_of(st.none(), st.integers(1, 20)),
    concentration=st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
    seed=st.integers(0, 2**32),
)
def test_clients_get_exactly_their_number_of_samples_and_share_none(
    kind: str,
    labels: list[int],
    clients: int,
    wish: int | None,
    concentration: float,
    seed: int,
) -> None:
    clients = min(clients, len(labels))
    wish = None if wish is None else min(wish, len(labels) // clients)
    parts = partitions.make(kind, np.array(labels), clients, wish, concentration, seed)
    everything = np.concatenate(parts)
    sizes = [len(p) for p in parts]
    assert len(parts) == clients
    assert all(p.dtype == np.int64 for p in parts)
    assert len(np.unique(everything)) == len(everything)
    assert everything.min() >= 0 and everything.max() < len(labels)
    if wish is None:
        assert sum(sizes) == len(labels)
        assert max(sizes) - min(sizes) <= 1
    else:
        assert sizes == [wish] * clients


@pytest.mark.parametrize("kind", partitions.PARTITIONS)
def test_same_seed_gives_the_same_partition_and_another_seed_another(kind: str) -> None:
    first, again, other = (
        np.concatenate(
            partitions.make(
                kind, LABELS, 10, 50, 0.5, seed, homes=[(0,), (1,)] * 5, cells=2, labels_each=2
            )
        )
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_small_concentration_skews_and_large_concentration_does_not() -> None:
    skewed = partitions.make("dirichlet", LABELS, 10, 100, 0.1, 3)
    mild = partitions.make("dirichlet", LABELS, 10, 100, 1000.0, 3)
    assert _largest_class_share(skewed) > 0.4
    assert _largest_class_share(mild) < 0.15


def test_first_client_gets_the_proportions_it_drew() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        rng.permutation(200)  # the stock of each class is shuffled before any client draws
    drawn = rng.dirichlet(np.full(10, 0.5))
    (part,) = dirichlet.dirichlet(Deal(LABELS, 1, np.random.default_rng(5), 150, 0.5))
    counts = np.bincount(LABELS[part], minlength=10)
    assert np.abs(counts - drawn * 150).max() < 1


@settings(deadline=None, max_examples=60)
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=80),
    clients=st.integers(1, 12),
    wish=st.one_of(st.none(), st.integers(1, 20)),
    concentration=st.sampled_from([1e-3, 0.5, 100.0]),
    seed=st.integers(0, 2**32),
)
def test_classes_dealt_out_leave_nobody_empty_and_no_sample_twice(
    labels: list[int], clients: int, wish: int | None, concentration: float, seed: int
) -> None:
    clients = min(clients, len(labels))
    wish = None if wish is None else min(wish, len(labels) // clients)

    parts = partitions.make(
        "dirichlet-by-class", np.array(labels), clients, wish, concentration, seed
    )

    everything = np.concatenate(parts)
    assert len(parts) == clients
    assert min(map(len, parts)) >= 1
    assert len(everything) == (len(labels) if wish is None else wish * clients)
    assert len(np.unique(everything)) == len(everything)
    assert all(p.dtype == np.int64 and (np.diff(p) > 0).all() for p in parts), "in their own order"


def test_every_class_is_shared_out_by_proportions_of_its_own() -> None:
    rng = np.random.default_rng(5)
    rng.permutation(2_000)  # which samples are used is drawn first
    drawn = [rng.dirichlet(np.full(4, 0.5)) for _ in range(10)]

    parts = dirichlet.dirichlet_by_class(Deal(LABELS, 4, np.random.default_rng(5), None, 0.5))

    counts = np.array([np.bincount(LABELS[part], minlength=10) for part in parts])
    assert counts.sum(0).tolist() == [200] * 10
    assert np.abs(counts - 200 * np.array(drawn).T).max() < 1
    assert len({len(part) for part in parts}) == 4  # sizes differ


def test_a_client_that_gets_nothing_is_given_a_sample_of_the_largest() -> None:
    # One class, and a concentration that gives all of it to one client.
    parts = partitions.make("dirichlet-by-class", np.zeros(9, int), 3, None, 1e-6, seed=1)

    assert sorted(len(part) for part in parts) == [1, 1, 7]


def test_a_class_may_be_missing_at_a_client() -> None:
    labels = np.array([0, 1, 1, 1])

    parts = partitions.make("dirichlet-by-class", labels, 2, None, 1.0, seed=0)

    held = [np.bincount(labels[part], minlength=2).tolist() for part in parts]
    assert sorted(zeros for zeros, _ in held) == [0, 1]
    assert sum(ones for _, ones in held) == 3


def test_classes_dealt_out_cannot_be_shared() -> None:
    with pytest.raises(
        BadInput, match=r"task\.shared_samples: dirichlet-by-class deals each sample"
    ):
        partitions.make("dirichlet-by-class", LABELS, 2, 10, 1.0, 0, shared=True)


def test_sorted_by_class_a_client_keeps_its_samples_and_their_order_within_a_class() -> None:
    labels = np.array([2, 0, 1, 0, 2, 1])

    parts = partitions.sorted_by_class([np.array([4, 1, 0, 3]), np.array([5, 2])], labels)

    assert [part.tolist() for part in parts] == [[1, 3, 4, 0], [5, 2]]


def test_class_that_runs_out_is_made_up_from_what_is_left() -> None:
    labels = np.array([0] * 5 + [1] * 95)
    parts = partitions.make("dirichlet", labels, 4, 25, 1.0, 0)
    assert [len(p) for p in parts] == [25] * 4
    assert sum((labels[p] == 0).sum() for p in parts) == 5


@pytest.mark.parametrize(
    ("kind", "clients", "samples", "concentration", "message"),
    [
        ("iid", 0, 10, None, "task.partition: 0 clients"),
        ("iid", 3, 0, None, "task.samples_per_client: 0 is too few"),
        ("iid", 10, 201, None, "task.samples_per_client: .* at most 200"),
        ("iid", 2_001, None, None, "task.partition: 2001 clients cannot share 2000"),
        ("dirichlet", 3, 10, None, "task.partition: dirichlet needs a concentration"),
        ("dirichlet", 3, 10, 0.0, "task.partition: the concentration must be above 0"),
        ("dirichlet", 3, 10, float("nan"), "task.partition: the concentration must be above 0"),
        ("dirichlet-by-class", 3, 10, None, "dirichlet-by-class needs a concentration"),
        ("dirichlet-by-class", 3, 999, 1.0, "task.samples_per_client: .* at most 666"),
        ("dirichlett", 3, 10, 1.0, 'task.partition: .*did you mean "dirichlet"'),
        ("labels-per-client", 3, 10, None, "task.labels_per_client: missing; labels-per-client"),
        ("main-classes", 3, 10, None, "task.partition: main-classes needs cells; set topology"),
    ],
)
def test_impossible_partition_is_refused_in_one_sentence(
    kind: str, clients: int, samples: int | None, concentration: float | None, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        partitions.make(kind, LABELS, clients, samples, concentration, 0)
    assert re.search(message, str(caught.value))


def test_planning_a_partition_does_not_load_torch() -> None:
    modules = "learning.data.partitions, learning.data.datasets"
    check = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize("kind", ["iid", "dirichlet"])
def test_clients_that_share_samples_may_hold_more_than_there_are(kind: str) -> None:
    labels = np.repeat(np.arange(4), 25)

    parts = partitions.make(kind, labels, 5, 60, 1.0, seed=1, shared=True)
    more = partitions.make(kind, labels, 6, 60, 1.0, seed=1, shared=True)

    assert [len(np.unique(part)) for part in parts] == [60] * 5, "none twice at one client"
    assert not np.array_equal(parts[0], parts[1])
    assert all(np.array_equal(a, b) for a, b in zip(parts, more, strict=False))
