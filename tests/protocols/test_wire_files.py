"""Messages on disk: whole or not there, and held to what is expected."""

from pathlib import Path

import numpy as np
import pytest

from protocols.wire import Expected, Refused, read_file, write_file
from tests.support.wire_messages import same, update


def test_a_file_comes_back_and_leaves_nothing_else(tmp_path: Path) -> None:
    message = update(x=np.ones(3, np.float32), y=np.zeros((0, 2)), z=np.arange(90_000.0))

    write_file(tmp_path / "a.model", message)

    same(message, read_file(tmp_path / "a.model"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.model"]


def test_a_file_is_written_over_in_one_step(tmp_path: Path) -> None:
    write_file(tmp_path / "a.model", update(x=np.ones(3)))
    reading = read_file(tmp_path / "a.model")

    write_file(tmp_path / "a.model", update(x=np.zeros(5)))

    np.testing.assert_array_equal(reading.tensors["x"], np.ones(3))
    assert read_file(tmp_path / "a.model").tensors["x"].shape == (5,)


def test_a_file_is_held_to_what_is_expected(tmp_path: Path) -> None:
    write_file(tmp_path / "a.model", update())

    with pytest.raises(Refused, match="kind"):
        read_file(tmp_path / "a.model", Expected(kinds=frozenset({"task"})))
    with pytest.raises(Refused, match="oversize"):
        read_file(tmp_path / "a.model", Expected(max_bytes=-400_000))


def test_a_file_that_could_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.model").mkdir()

    with pytest.raises(OSError, match="directory"):
        write_file(tmp_path / "a.model", update())

    assert [path.name for path in tmp_path.iterdir()] == ["a.model"]


def test_a_file_cut_anywhere_or_lengthened_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    write_file(path, update())
    content = path.read_bytes()

    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(Refused, match="truncated"):
            read_file(path)
    path.write_bytes(content + b"0")
    with pytest.raises(Refused, match="malformed"):
        read_file(path)
