"""Partition main-classes: two of the home cell's main classes for every client, equally."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import BadInput
from learning.data import partitions
from scenarios.cells import cells_by_client

NINE = np.random.default_rng(4).permutation(np.arange(1_800) % 9)
PAPER = cells_by_client(3, 6, 2)


def _counts(labels: np.ndarray, part: np.ndarray) -> dict[int, int]:
    found, counts = np.unique(labels[part], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _make(
    samples: int | None, seed: int = 1, shared: bool = False, hears: list[tuple[int, ...]] = PAPER
) -> list[np.ndarray]:
    return partitions.make(
        "main-classes", NINE, len(hears), samples, None, seed, shared, homes=hears, cells=3
    )


@pytest.mark.parametrize("shared", [False, True])
def test_a_client_has_two_main_classes_of_its_home_cell_in_equal_numbers(shared: bool) -> None:
    parts = _make(20, shared=shared)
    for part, (home, *_) in zip(parts, PAPER, strict=True):
        counts = _counts(NINE, part)
        assert list(counts.values()) == [10, 10]
        assert {label // 3 for label in counts} == {home}
        assert part.dtype == np.int64


@settings(deadline=None, max_examples=40)
@given(
    cells=st.integers(1, 4),
    each=st.integers(1, 3),
    alone=st.integers(1, 4),
    overlap=st.integers(0, 3),
    samples=st.one_of(st.none(), st.integers(1, 9)),
    seed=st.integers(0, 2**32),
)
def test_clients_get_exactly_their_number_of_samples_and_share_none(
    cells: int, each: int, alone: int, overlap: int, samples: int | None, seed: int
) -> None:
    hears = cells_by_client(cells, alone, overlap)
    labels = np.arange(cells * each * 200) % (cells * each)
    parts = partitions.make(
        "main-classes", labels, len(hears), samples, None, seed, homes=hears, cells=cells
    )
    everything = np.concatenate(parts)
    assert len(parts) == len(hears)
    assert len(np.unique(everything)) == len(everything)
    sizes = {len(part) for part in parts}
    assert sizes == {samples} if samples else len(sizes) == 1
    for part, (home, *_) in zip(parts, hears, strict=True):
        counts = _counts(labels, part)
        assert set(counts) <= set(range(home * each, (home + 1) * each))
        assert len(counts) == min(2, each, len(part))
        assert max(counts.values()) - min(counts.values()) <= 1


def test_clients_of_a_cell_choose_all_pairs_of_its_classes() -> None:
    parts = _make(2, hears=cells_by_client(3, 30, 0))
    pairs = [tuple(_counts(NINE, part)) for part in parts[:30]]
    assert set(pairs) == {(0, 1), (0, 2), (1, 2)}
    assert all(pairs.count(pair) >= 4 for pair in set(pairs))


def test_a_cell_with_one_main_class_gives_its_clients_that_one() -> None:
    labels = np.arange(30) % 3
    parts = partitions.make(
        "main-classes", labels, 3, 4, None, 0, homes=[(0,), (2, 1), (1,)], cells=3
    )
    assert [_counts(labels, part) for part in parts] == [{0: 4}, {2: 4}, {1: 4}]


def test_the_choice_of_a_client_does_not_depend_on_those_after_it() -> None:
    few, many = (_make(4, hears=cells_by_client(3, 6, overlap)) for overlap in (0, 2))
    for one, other in zip(few, many, strict=False):
        assert _counts(NINE, one) == _counts(NINE, other)


def test_without_a_number_all_get_as_many_as_the_scarcest_class_allows() -> None:
    labels = np.repeat([0, 1], [50, 31])
    parts = partitions.make("main-classes", labels, 3, None, None, 0, homes=[(0,)] * 3, cells=1)
    assert [_counts(labels, part) for part in parts] == [{0: 10, 1: 10}] * 3


def test_clients_that_share_samples_may_hold_more_than_there_are() -> None:
    parts = _make(400, shared=True)
    assert [len(np.unique(part)) for part in parts] == [400] * len(PAPER)
    assert len(np.concatenate(parts)) > len(NINE)


@pytest.mark.parametrize("shared", [False, True])
def test_a_class_that_runs_out_is_refused_with_the_numbers(shared: bool) -> None:
    labels = np.repeat([0, 1], [100, 20])
    with pytest.raises(BadInput) as caught:
        partitions.make("main-classes", labels, 2, 60, None, 0, shared, homes=[(0,)] * 2, cells=1)
    assert str(caught.value) == (
        "task.samples_per_client: of class 1 the clients need 30 samples and there are 20;"
        " ask for at most 40"
        if shared
        else "task.samples_per_client: of class 1 the clients need 60 samples and there are 20;"
        " ask for at most 20 or fewer clients or task.shared_samples = true"
    )


def test_fewer_samples_of_a_class_than_clients_are_refused_also_without_a_number() -> None:
    labels = np.repeat([0, 1], [100, 2])
    with pytest.raises(BadInput, match=r"of class 1 the clients need 3 samples and there are 2;"):
        partitions.make("main-classes", labels, 3, None, None, 0, homes=[(0,)] * 3, cells=1)


@pytest.mark.parametrize(
    ("cells", "remedy"), [(2, "set task.classes to 8"), (10, "take fewer cells")]
)
def test_classes_that_do_not_divide_into_the_cells_are_refused(cells: int, remedy: str) -> None:
    with pytest.raises(BadInput) as caught:
        partitions.make("main-classes", NINE, 1, 10, None, 0, homes=[(0,)], cells=cells)
    assert str(caught.value) == (
        f"task.partition: 9 classes do not divide into {cells} cells alike; {remedy}"
    )
