"""Data sets: found in the stated order, decoded once, and refused in one sentence."""

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from contracts.errors import BadInput
from learning.data import datasets
from learning.data.dataset import Dataset
from learning.data.idx import read_idx
from learning.data.torchvision_shim import import_torchvision

RNG = np.random.default_rng(1)
TRAIN, TEST = 30, 12


@pytest.fixture(autouse=True)
def _nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, no Debian package, no environment and no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("METRONOME_DATA", raising=False)
    monkeypatch.setattr(datasets, "DEBIAN_FASHION_MNIST", tmp_path / "debian")

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


def _idx(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def _lay_out(folder: Path, zipped: bool = False) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True)
    arrays = {}
    for part, count in (("train", TRAIN), ("t10k", TEST)):
        arrays[f"{part}-images-idx3-ubyte"] = RNG.integers(0, 256, (count, 28, 28), np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = RNG.integers(0, 10, count, np.uint8)
    for name, array in arrays.items():
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(_idx(array)))
        else:
            (folder / name).write_bytes(_idx(array))
    return arrays


def _assert_holds(dataset: Dataset, arrays: dict[str, np.ndarray]) -> None:
    np.testing.assert_array_equal(
        dataset.train_inputs[:, 0], arrays["train-images-idx3-ubyte"], strict=True
    )
    np.testing.assert_array_equal(dataset.train_labels, arrays["train-labels-idx1-ubyte"])
    np.testing.assert_array_equal(dataset.test_inputs[:, 0], arrays["t10k-images-idx3-ubyte"])
    np.testing.assert_array_equal(dataset.test_labels, arrays["t10k-labels-idx1-ubyte"])
    assert dataset.train_labels.dtype == np.int64


@pytest.mark.parametrize("name", ["mnist", "fashionmnist"])
def test_data_directory_in_torchvision_layout_is_read(tmp_path: Path, name: str) -> None:
    folder = {"mnist": "MNIST", "fashionmnist": "FashionMNIST"}[name]
    arrays = _lay_out(tmp_path / "data" / folder / "raw")
    dataset = datasets.load(name, tmp_path / "data")
    _assert_holds(dataset, arrays)
    assert (dataset.shape, dataset.classes) == ((1, 28, 28), 10)


CIFAR10 = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta")


@pytest.mark.parametrize(
    ("name", "folder", "files", "classes"),
    [
        ("cifar10", "cifar-10-batches-py", CIFAR10, 10),
        ("cifar100", "cifar-100-python", ("train", "test", "meta"), 100),
    ],
)
def test_cifar_images_keep_their_channels_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    folder: str,
    files: tuple[str, ...],
    classes: int,
) -> None:
    images = RNG.integers(0, 256, (4, 3, 32, 32), np.uint8)

    class Decoded:
        """What torchvision makes of CIFAR's files: channels last, labels in a list."""

        def __init__(self, root: Path, train: bool, download: bool) -> None:
            self.data = images.transpose(0, 2, 3, 1)
            self.targets = [0, 1, 2, 9]

    (tmp_path / "data" / folder).mkdir(parents=True)
    for file in files:
        (tmp_path / "data" / folder / file).touch()
    monkeypatch.setattr(import_torchvision().datasets, name.upper(), Decoded)
    dataset = datasets.load(name, tmp_path / "data")
    np.testing.assert_array_equal(dataset.test_inputs, images)
    np.testing.assert_array_equal(dataset.train_labels, [0, 1, 2, 9])
    assert (dataset.shape, dataset.classes) == ((3, 32, 32), classes)
    assert len(dataset.mean) == len(dataset.std) == 3


def test_environment_names_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = _lay_out(tmp_path / "data" / "MNIST" / "raw")
    monkeypatch.setenv("METRONOME_DATA", str(tmp_path / "data"))
    _assert_holds(datasets.load("mnist", None), arrays)


def test_directory_without_the_set_gives_way_to_the_debian_package(tmp_path: Path) -> None:
    arrays = _lay_out(tmp_path / "debian", zipped=True)
    (tmp_path / "data").mkdir()
    _assert_holds(datasets.load("fashionmnist", tmp_path / "data"), arrays)


def test_data_directory_comes_before_the_debian_package(tmp_path: Path) -> None:
    _lay_out(tmp_path / "debian", zipped=True)
    arrays = _lay_out(tmp_path / "data" / "FashionMNIST" / "raw")
    _assert_holds(datasets.load("fashionmnist", tmp_path / "data"), arrays)


def test_second_load_maps_the_decoded_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = _lay_out(tmp_path / "debian", zipped=True)
    datasets.load("fashionmnist", None)
    monkeypatch.delattr(datasets, "read_idx")
    again = datasets.load("fashionmnist", None)
    _assert_holds(again, arrays)
    assert isinstance(again.train_inputs, np.memmap)
    assert not again.train_inputs.flags.writeable
    assert not list((tmp_path / "cache").rglob(".*"))


def test_replaced_files_are_decoded_anew(tmp_path: Path) -> None:
    _lay_out(tmp_path / "debian", zipped=True)
    datasets.load("fashionmnist", None)
    shutil.rmtree(tmp_path / "debian")
    arrays = _lay_out(tmp_path / "debian", zipped=True)
    _assert_holds(datasets.load("fashionmnist", None), arrays)


def test_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = _lay_out(tmp_path / "debian", zipped=True)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    _assert_holds(datasets.load("fashionmnist", None), arrays)


def test_download_is_kept_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[dict[str, np.ndarray]] = []

    def download(self: object) -> None:
        if not laid_out:
            laid_out.append(_lay_out(Path(self.raw_folder)))  # type: ignore[attr-defined]

    import_torchvision()
    monkeypatch.setattr("torchvision.datasets.MNIST.download", download)
    _assert_holds(datasets.load("mnist", None), laid_out[0])
    _assert_holds(datasets.load("mnist", None), laid_out[0])
    assert [f.name for f in (tmp_path / "cache/metronome/data").iterdir()] == ["mnist-download"]


def test_set_that_is_nowhere_is_refused_with_the_three_ways(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        datasets.load("fashionmnist", None)
    message = str(caught.value)
    assert message.startswith("task.dataset: fashionmnist was not found")
    for way in (
        "--data DIR or METRONOME_DATA",
        "dataset-fashion-mnist",
        "torchvision can download",
    ):
        assert way in message
    assert "\n" not in message
    assert not list((tmp_path / "cache").rglob("*download*"))


def test_only_sets_that_debian_packages_mention_the_package() -> None:
    with pytest.raises(BadInput) as caught:
        datasets.load("cifar10", None)
    assert "dataset-fashion-mnist" not in str(caught.value)


def test_unknown_set_is_refused_with_a_suggestion() -> None:
    with pytest.raises(BadInput) as caught:
        datasets.load("FashionMINST", None)
    assert 'did you mean "fashionmnist"' in str(caught.value)
    assert "cifar10" in str(caught.value)


def test_missing_data_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--data: there is no directory"):
        datasets.load("mnist", tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"not an idx file", _idx(np.zeros(9, np.uint8))[:-1]])
def test_damaged_file_is_refused_and_not_cached(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "data" / "MNIST" / "raw"
    _lay_out(folder)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(content)
    with pytest.raises(BadInput, match="--data: torchvision cannot read mnist"):
        datasets.load("mnist", tmp_path / "data")
    assert not list((tmp_path / "cache").rglob("*.npy"))


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", gzip.compress(b"abc", mtime=0)])
def test_damaged_package_is_refused(tmp_path: Path, content: bytes) -> None:
    _lay_out(tmp_path / "debian", zipped=True)
    (tmp_path / "debian" / "train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(BadInput, match="reinstall Debian's package"):
        datasets.load("fashionmnist", None)


def test_idx_file_may_be_plain_or_zipped(tmp_path: Path) -> None:
    array = RNG.integers(0, 256, (3, 4, 5), np.uint8)
    (tmp_path / "plain").write_bytes(_idx(array))
    (tmp_path / "zipped.gz").write_bytes(gzip.compress(_idx(array)))
    np.testing.assert_array_equal(read_idx(tmp_path / "plain"), array)
    np.testing.assert_array_equal(read_idx(tmp_path / "zipped.gz"), array)


def test_first_classes_only_are_the_whole_set_without_the_others() -> None:
    whole, some = datasets.load("tiny", None), datasets.load("tiny", None, classes=4)
    train, test = whole.train_labels < 4, whole.test_labels < 4
    assert (some.classes, some.shape) == (4, (1, 28, 28))
    assert (some.name, some.mean, some.std) == (whole.name, whole.mean, whole.std)
    np.testing.assert_array_equal(some.train_labels, whole.train_labels[train])
    np.testing.assert_array_equal(some.test_labels, whole.test_labels[test])
    for ours, all_of_them in (
        (some.train_inputs, whole.train_inputs[train]),
        (some.test_inputs, whole.test_inputs[test]),
    ):
        assert ours.shape == all_of_them.shape
        assert ours.dtype == np.uint8
        assert len(ours) == len(all_of_them)
        np.testing.assert_array_equal(ours[np.array([2, 0])], all_of_them[[2, 0]])
        np.testing.assert_array_equal(ours[1:3], all_of_them[1:3])


def test_first_classes_only_map_the_same_decoded_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lay_out(tmp_path / "debian", zipped=True)
    datasets.load("fashionmnist", None)
    monkeypatch.delattr(datasets, "read_idx")
    assert datasets.load("fashionmnist", None, classes=3).classes == 3
    assert len(list((tmp_path / "cache/metronome/data").iterdir())) == 1


def test_all_classes_are_the_whole_set() -> None:
    tiny = datasets.load("tiny", None, classes=10)
    assert isinstance(tiny.train_inputs, np.ndarray)
    assert tiny.classes == 10


@pytest.mark.parametrize("classes", [0, -1, 11])
def test_impossible_number_of_classes_is_refused_before_anything_is_read(classes: int) -> None:
    with pytest.raises(BadInput) as caught:
        datasets.load("cifar10", None, classes=classes)
    expected = f"task.classes: cifar10 has 10 classes, not {classes}; ask for 1 to 10"
    assert str(caught.value) == expected


def test_tiny_is_the_same_every_time_and_balanced() -> None:
    one, two = datasets.load("tiny", None), datasets.load("tiny", None)
    np.testing.assert_array_equal(one.train_inputs, two.train_inputs)
    assert one.train_inputs.shape == (2_000, 1, 28, 28)
    assert one.test_inputs.shape == (500, 1, 28, 28)
    assert one.train_inputs.dtype == np.uint8
    assert np.bincount(one.train_labels).tolist() == [200] * 10
    assert np.bincount(one.test_labels).tolist() == [50] * 10


def test_emnist_images_are_turned_upright(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "EMNIST" / "raw"
    folder.mkdir(parents=True)
    lying = {part: RNG.integers(0, 256, (47, 28, 28), np.uint8) for part in ("train", "test")}
    labels = np.arange(47, dtype=np.uint8)
    for part, images in lying.items():
        (folder / f"emnist-balanced-{part}-images-idx3-ubyte").write_bytes(_idx(images))
        (folder / f"emnist-balanced-{part}-labels-idx1-ubyte").write_bytes(_idx(labels))
    dataset = datasets.load("emnist", tmp_path / "data")
    np.testing.assert_array_equal(dataset.train_inputs[:, 0], lying["train"].swapaxes(1, 2))
    np.testing.assert_array_equal(dataset.test_inputs[:, 0], lying["test"].swapaxes(1, 2))
    np.testing.assert_array_equal(dataset.train_labels, labels)
    assert (dataset.shape, dataset.classes) == ((1, 28, 28), 47)
    assert datasets.load("emnist", tmp_path / "data", classes=45).train_labels.max() == 44
