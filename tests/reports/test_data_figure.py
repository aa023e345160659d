"""Who has how many samples of which class: recorded, read back, and drawn."""

from pathlib import Path

import numpy as np
import pytest

from learning.data.class_counts import class_counts, write_counts
from reports.figures.data import draw_data
from reports.records.holdings import read_holdings


def test_samples_are_counted_by_client_and_class() -> None:
    labels = np.array([0, 2, 2, 1, 2])

    counts = class_counts(labels, [np.array([0, 1, 2]), np.array([4])], classes=4)

    assert counts.tolist() == [[1, 0, 2, 0], [0, 0, 1, 0]]


def test_the_record_says_what_each_client_has_and_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    counts = np.array([[1, 0, 2], [0, 0, 1], *[[5, 5, 5]] * 9])

    write_counts(file, counts)

    assert file.read_text().splitlines()[:4] == [
        "client,class,samples",
        "client1,0,1",
        "client1,2,2",
        "client2,2,1",
    ]
    held = read_holdings(file)
    assert held is not None
    assert held.counts.tolist() == counts.tolist()
    assert (held.clients[0], held.clients[-1]) == ("client1", "client11")


def test_without_a_record_there_is_nothing_to_draw(tmp_path: Path) -> None:
    assert read_holdings(tmp_path / "data.csv") is None


@pytest.mark.parametrize(("clients", "classes"), [(1, 1), (10, 10), (200, 10), (3, 100)])
def test_few_and_many_clients_and_classes_are_drawn(
    tmp_path: Path, clients: int, classes: int
) -> None:
    counts = np.arange(clients * classes).reshape(clients, classes) + 1
    write_counts(tmp_path / "data.csv", counts)
    held = read_holdings(tmp_path / "data.csv")
    assert held is not None

    draw_data(tmp_path / "data.png", "$a_1: every client's samples", held)

    assert (tmp_path / "data.png").stat().st_size > 5000
