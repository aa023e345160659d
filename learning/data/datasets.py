"""Load data sets by name, and cache them decoded between runs.

Nothing here imports torch until a file must be decoded, so checking a name is fast.
"""

import contextlib
import hashlib
import os
import socket
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from contracts.errors import BadInput
from contracts.registry import Registry
from learning.data import brought, tiny
from learning.data.dataset import Dataset
from learning.data.idx import read_idx
from learning.data.selected_rows import SelectedRows
from learning.user_cache import cache_dir, read_arrays, write_arrays

DEBIAN_FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
_PARTS = ("train_images", "train_labels", "test_images", "test_labels")
_DOWNLOAD_STALL_SECONDS = 30.0

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class _Source:
    """What is known about a data set before reading it: its torchvision class and files."""

    torchvision: str
    files: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: int = 10
    split: str | None = None  # which split, if torchvision offers several
    transposed: bool = False  # the files hold the images transposed


_IDX_FILES = tuple(
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)
_EMNIST_FILES = tuple(file.replace("t10k", "test") for file in _IDX_FILES)
_CIFAR_FILES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch", "batches.meta")

_KNOWN = {
    "fashionmnist": _Source(
        torchvision="FashionMNIST",
        files=tuple(f"FashionMNIST/raw/{file}" for file in _IDX_FILES),
        mean=(0.2860,),
        std=(0.3530,),
    ),
    "mnist": _Source(
        torchvision="MNIST",
        files=tuple(f"MNIST/raw/{file}" for file in _IDX_FILES),
        mean=(0.1307,),
        std=(0.3081,),
    ),
    "cifar10": _Source(
        torchvision="CIFAR10",
        files=tuple(f"cifar-10-batches-py/{file}" for file in _CIFAR_FILES),
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2470, 0.2435, 0.2616),
    ),
    "cifar100": _Source(
        torchvision="CIFAR100",
        files=tuple(f"cifar-100-python/{file}" for file in ("train", "test", "meta")),
        mean=(0.5071, 0.4865, 0.4409),
        std=(0.2673, 0.2564, 0.2762),
        classes=100,
    ),
    # Digits, capitals, and those small letters that do not look like their capitals. FSL uses 45
    # of the classes and does not say which two it leaves out; task.classes = 45 leaves out the
    # last, which are r and t.
    "emnist": _Source(
        torchvision="EMNIST",
        files=tuple(f"EMNIST/raw/emnist-balanced-{file}" for file in _EMNIST_FILES),
        mean=(0.1751,),
        std=(0.3332,),
        classes=47,
        split="balanced",
        transposed=True,
    ),
}


def load(name: str, data_dir: Path | None, classes: int | None = None) -> Dataset:
    """Load the data set from the first place that has it.

    The places are, in order, data_dir (or METRONOME_DATA), Debian's package, and torchvision's
    download. If `classes` is given, only samples of that many first classes are returned.
    """
    DATASETS.check(name, "task.dataset")
    if name in _KNOWN:
        _check_classes(name, classes, _KNOWN[name].classes)  # before anything is downloaded
    plugin = DATASETS.plugin(name)
    found = DATASETS[name]
    whole = found(data_dir) if plugin is None else brought.load(plugin, name, found, data_dir)
    whole = replace(whole, name=name)
    _check_classes(name, classes, whole.classes)
    return whole if classes is None or classes == whole.classes else _first_classes(whole, classes)


def _check_classes(name: str, classes: int | None, there: int) -> None:
    if classes is not None and not 1 <= classes <= there:
        raise BadInput(
            f"task.classes: {name} has {there} classes, not {classes}; ask for 1 to {there}"
        )


def _first_classes(whole: Dataset, classes: int) -> Dataset:
    """Select the samples of the first classes, without copying the images."""
    train, test = (
        np.flatnonzero(labels < classes) for labels in (whole.train_labels, whole.test_labels)
    )
    return replace(
        whole,
        train_inputs=SelectedRows(whole.train_inputs, train),
        train_labels=whole.train_labels[train],
        test_inputs=SelectedRows(whole.test_inputs, test),
        test_labels=whole.test_labels[test],
        classes=classes,
    )


def _tiny(_data_dir: Path | None) -> Dataset:
    return _dataset(tiny.generate(), tiny.CLASSES, (0.5,), (0.3,))


def _dataset(
    arrays: Arrays, classes: int, mean: tuple[float, ...], std: tuple[float, ...]
) -> Dataset:
    train, named, test, told = (arrays[part] for part in _PARTS)
    return Dataset(train, named, test, told, classes, mean, std)


def _from_files(name: str) -> Callable[[Path | None], Dataset]:
    """Return the function that loads one of the known sets."""

    def load(data_dir: Path | None) -> Dataset:
        known = _KNOWN[name]
        arrays = (
            _from_directory(name, known, data_dir)
            or _from_debian(name)
            or _from_download(name, known)
        )
        return _dataset(arrays, known.classes, known.mean, known.std)

    return load


# name in a scenario -> what loads it, given the directory of --data
DATASETS: Registry[Callable[[Path | None], Dataset]] = Registry(
    "DATASETS", {**{name: _from_files(name) for name in _KNOWN}, "tiny": _tiny}
)


def data_root(data_dir: Path | None) -> Path | None:
    """Return the directory in torchvision's layout: the given one, or METRONOME_DATA."""
    environment = os.environ.get("METRONOME_DATA")
    root = data_dir or (Path(environment) if environment else None)
    if root is not None and not root.is_dir():
        raise BadInput(
            f"{_place(data_dir)}: there is no directory {root}; name one in torchvision's layout"
        )
    return root


def _place(data_dir: Path | None) -> str:
    return "--data" if data_dir else "METRONOME_DATA"


def _from_directory(name: str, known: _Source, data_dir: Path | None) -> Arrays | None:
    root = data_root(data_dir)
    if root is None:
        return None
    files = [root / file for file in known.files]
    if not all(file.is_file() for file in files):
        return None
    key = f"{name}-dir-{_fingerprint(files)}"
    try:
        return _cached(key, lambda: _decode_torchvision(known, root, download=False))
    except _Unreadable as error:
        raise BadInput(
            f"{_place(data_dir)}: torchvision cannot read {name} in {root} ({error}); lay its"
            " files out anew"
        ) from error


def _from_debian(name: str) -> Arrays | None:
    if name != "fashionmnist":
        return None
    files = [DEBIAN_FASHION_MNIST / f"{file}.gz" for file in _IDX_FILES]
    if not all(file.is_file() for file in files):
        return None
    try:
        return _cached(f"{name}-debian-{_fingerprint(files)}", lambda: _decode_idx(files))
    except _Unreadable as error:
        raise BadInput(
            f"task.dataset: {error}; reinstall Debian's package dataset-fashion-mnist"
        ) from error


def _from_download(name: str, known: _Source) -> Arrays:
    try:
        return _cached(f"{name}-download", lambda: _download(known))
    except _Unreadable as error:
        package = ", install Debian's package dataset-fashion-mnist,"
        raise BadInput(
            f"task.dataset: {name} was not found and could not be downloaded ({error}); give --data"
            f" DIR or METRONOME_DATA a directory that holds {known.files[0]} and its siblings"
            f"{package if name == 'fashionmnist' else ''} or connect to the internet, so that"
            " torchvision can download it"
        ) from error


def _cached(key: str, decode: Callable[[], Arrays]) -> Arrays:
    folder = cache_dir() / "data" / key
    arrays = read_arrays(folder, _PARTS)
    if arrays is not None:
        return arrays
    decoded = decode()
    # If the cache cannot be written, this run uses the copy in memory.
    with contextlib.suppress(OSError):
        write_arrays(folder, decoded)
    return read_arrays(folder, _PARTS) or decoded


def _fingerprint(files: list[Path]) -> str:
    """Identify the files by path, size and time stamp, without reading them."""
    stamps = [(str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()[:12]


class _Unreadable(Exception):
    """A data set's files could not be decoded; the message is half a sentence saying why."""


def _decode_idx(files: list[Path]) -> Arrays:
    try:
        decoded = [read_idx(file) for file in files]
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise _Unreadable(_first_line(error)) from error
    return {
        part: array.astype(np.int64) if array.ndim == 1 else array[:, np.newaxis]
        for part, array in zip(_PARTS, decoded, strict=True)
    }


def _decode_torchvision(known: _Source, root: Path, download: bool) -> Arrays:
    from learning.data.torchvision_shim import import_torchvision

    arrays: Arrays = {}
    try:
        kind = getattr(import_torchvision().datasets, known.torchvision)
        options = {"split": known.split} if known.split else {}
        for part in ("train", "test"):
            samples = kind(root, train=part == "train", download=download, **options)
            images = np.asarray(samples.data)
            images = images.swapaxes(1, 2) if known.transposed else images
            # torchvision keeps grey images as (N, H, W) and colour ones as (N, H, W, C).
            images = images[:, np.newaxis] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
            arrays[f"{part}_images"] = np.ascontiguousarray(images)
            arrays[f"{part}_labels"] = np.asarray(samples.targets, np.int64)
    except Exception as error:  # torchvision raises anything, from OSError to pickle errors
        raise _Unreadable(_first_line(error)) from error
    return arrays


def _download(known: _Source) -> Arrays:
    """Download into a temporary folder, so that an interrupted download leaves nothing."""
    parent = cache_dir() / "data"
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _Unreadable(_first_line(error)) from error
    stall = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_DOWNLOAD_STALL_SECONDS)
    try:
        with (
            tempfile.TemporaryDirectory(dir=parent, prefix=".download-") as aside,
            contextlib.redirect_stdout(sys.stderr),
        ):
            return _decode_torchvision(known, Path(aside), download=True)
    finally:
        socket.setdefaulttimeout(stall)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(":. ")
