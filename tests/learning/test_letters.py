"""The synthetic letters of FSLsyn: fifteen a class, upright, in the order of EMNIST's classes."""

from pathlib import Path

import numpy as np
import pytest

from contracts.errors import BadInput
from learning.data import datasets, letters, server_data
from scenarios.server_data import ServerData


def _ink(image: np.ndarray) -> float:
    return float(image.sum()) / 255


def _slant(image: np.ndarray) -> float:
    """How far to the right the ink moves for every pixel upward."""
    rows, columns = np.nonzero(image > 128)
    return float(-np.polyfit(rows, columns, 1)[0])


def test_every_class_has_fifteen_different_images_white_on_black() -> None:
    images, labels = letters.draw(45, 15)
    assert images.shape == (675, 1, 28, 28) and images.dtype == np.uint8  # n_0 of FSL, V-C
    assert labels.dtype == np.int64 and np.bincount(labels).tolist() == [15] * 45
    assert len({image.tobytes() for image in images}) == 675
    assert (images.max(axis=(1, 2, 3)) > 150).all()
    assert images.mean() < 30
    assert (images[:, 0, [0, 0, -1, -1], [0, -1, 0, -1]] == 0).all(), "nothing in the corners"


def test_later_sizes_are_larger_and_rotations_turn_to_the_left() -> None:
    images, _ = letters.draw(19, 15)
    i_s = images[18 * 15 :, 0]  # the class of I
    small, medium, large = (np.mean([_ink(i) for i in i_s[k : k + 5]]) for k in (0, 5, 10))
    assert small < medium < large
    assert large / small == pytest.approx(1.2**2, rel=0.05)  # 120 points to 100, both ways
    slants = [_slant(image) for image in i_s[10:]]
    assert slants == sorted(slants, reverse=True)  # -20 degrees lean most to the right


def test_fewer_are_the_first_of_all() -> None:
    whole, _ = letters.draw(3, 15)
    some, labels = letters.draw(3, 4)
    assert labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    np.testing.assert_array_equal(some[:4], whole[:4])
    np.testing.assert_array_equal(some[8:], whole[30:34])


def test_characters_are_emnists_classes() -> None:
    assert len(letters.CHARACTERS) == 47
    assert (letters.CHARACTERS[10], letters.CHARACTERS[35]) == ("A", "Z")
    assert letters.CHARACTERS[36:] == "abdefghnqrt"


def test_more_than_fifteen_are_refused() -> None:
    with pytest.raises(BadInput, match=r"server_data.per_class: 16, .* ask for at most 15"):
        letters.draw(47, 16)


def test_a_missing_font_is_refused_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters, "FONT", Path("/nowhere/Z003.otf"))
    with pytest.raises(BadInput, match=r"font /nowhere/Z003.otf is missing; .* fonts-urw-base35"):
        letters.draw(47, 15)


def test_a_server_learns_from_letters_of_the_classes_there_are() -> None:
    tiny = datasets.load("tiny", None)
    section = ServerData(kind="source", source="letters", per_class=2)
    images, labels = server_data.gather(section, tiny, [], 1)
    assert (len(images), labels.max()) == (20, 9)
