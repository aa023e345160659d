"""STL-10 for a server of CIFAR-10's classes, on small generated files."""

from pathlib import Path

import numpy as np
import pytest

from contracts.errors import BadInput
from learning.data import stl10

RNG = np.random.default_rng(3)


def _lay_out(root: Path, each: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Files as the authors made them: of every image three channels, column after column."""
    labels = np.repeat(np.arange(1, 11, dtype=np.uint8), each)
    images = RNG.integers(0, 256, (len(labels), 3, 96, 96), np.uint8)
    (root / "stl10_binary").mkdir(parents=True)
    (root / "stl10_binary" / "train_X.bin").write_bytes(images.swapaxes(2, 3).tobytes())
    (root / "stl10_binary" / "train_y.bin").write_bytes(labels.tobytes())
    return images, labels


def _pick(root: Path, classes: int = 10, per_class: int = 3) -> tuple[np.ndarray, np.ndarray]:
    return stl10.pick(root, classes, per_class, np.random.default_rng(1))


def test_nine_classes_have_cifars_labels_and_frogs_none(tmp_path: Path) -> None:
    images, own = _lay_out(tmp_path)
    found, labels = _pick(tmp_path)
    assert found.shape == (27, 3, 32, 32) and found.dtype == np.uint8
    assert np.bincount(labels, minlength=10).tolist() == [3] * 6 + [0] + [3] * 3
    cars = {image.tobytes() for image in stl10.shrink(images[own == 3])}
    assert {image.tobytes() for image in found[labels == 1]} == cars, "upright, all of them"


def test_a_block_of_nine_pixels_becomes_their_mean() -> None:
    image = np.zeros((1, 1, 6, 6), np.uint8)
    image[0, 0, :3, :3] = np.arange(1, 10).reshape(3, 3)  # the mean is 5
    image[0, 0, 3:, 3:] = 255
    image[0, 0, 0, 5] = 14  # 14 / 9 is 1.56
    assert stl10.shrink(image).tolist() == [[[[5, 2], [0, 255]]]]


def test_fewer_images_are_drawn_without_replacement(tmp_path: Path) -> None:
    _lay_out(tmp_path, each=5)
    found, labels = _pick(tmp_path, classes=3, per_class=4)
    assert sorted(labels) == [0] * 4 + [1] * 4 + [2] * 4
    assert len({image.tobytes() for image in found}) == 12


def test_what_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("METRONOME_DATA", raising=False)
    with pytest.raises(BadInput, match=r"STL-10 was not found; give --data DIR .*train_X.bin"):
        stl10.pick(None, 10, 1, RNG)
    with pytest.raises(BadInput, match="STL-10 was not found"):
        _pick(tmp_path)
    _lay_out(tmp_path)
    with pytest.raises(BadInput, match=r"per_class: 4, and STL-10 has 3 images .* at most 3"):
        _pick(tmp_path, per_class=4)
    (tmp_path / "stl10_binary" / "train_y.bin").write_bytes(b"\x01")
    with pytest.raises(BadInput, match=r"train_X.bin has 829440 bytes, which is not 1 images"):
        _pick(tmp_path)
