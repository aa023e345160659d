"""Data sets of plug-ins: checked before anything uses them, as nobody else has."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import xxhash

from contracts.errors import BadInput
from contracts.plugins import Plugin
from learning.data.dataset import Dataset, is_tokens
from learning.data.selected_rows import SelectedRows

Load = Callable[[Path | None], Dataset]


def load(plugin: Plugin, name: str, function: Load, data_dir: Path | None) -> Dataset:
    """Call a plug-in's function; BadInput with its file and line if it gives no data set."""
    try:
        found = function(data_dir)
    except Exception as error:
        place = plugin.blame(error, "DATASETS", name)
        said = error if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
        raise BadInput(f'{place}: data set "{name}" cannot be loaded ({said})') from error
    wrong = _fault(found) if isinstance(found, Dataset) else _no_dataset(found)
    if wrong is not None:
        raise BadInput(f'{plugin.place("DATASETS", name)}: data set "{name}": {wrong}')
    return replace(
        found,
        train_inputs=_inputs(found.train_inputs),
        test_inputs=_inputs(found.test_inputs),
        train_labels=np.asarray(found.train_labels, np.int64),
        test_labels=np.asarray(found.test_labels, np.int64),
        mean=tuple(map(float, found.mean)),
        std=tuple(map(float, found.std)),
    )


def digest(data: Dataset) -> str:
    """Name the samples, so that every process of a run can tell whether it has the same."""
    found = xxhash.xxh3_128()
    for array in (data.train_inputs, data.train_labels, data.test_inputs, data.test_labels):
        plain = np.ascontiguousarray(array[:])
        found.update(f"{plain.dtype}{plain.shape}".encode())
        found.update(plain.data.cast("B") if plain.size else b"")
    return found.hexdigest()


def _no_dataset(found: object) -> str:
    return f"a {type(found).__name__} was given; return a learning.data.dataset.Dataset"


def _fault(data: Dataset) -> str | None:
    """Return what is wrong with a data set, and what to do about it; None if nothing is."""
    if type(data.classes) is not int or data.classes < 2:
        return f"classes is {data.classes!r}; give their number, at least 2"
    for part in ("train", "test"):
        inputs = getattr(data, f"{part}_inputs")
        labels = np.asarray(getattr(data, f"{part}_labels"))
        if np.dtype(inputs.dtype).kind not in "iuf" or len(inputs.shape) < 2:
            return f"{part}_inputs are {inputs.dtype}{inputs.shape}; give numbers, a row a sample"
        if labels.ndim != 1 or labels.dtype.kind not in "iu":
            return f"{part}_labels are {labels.dtype}{labels.shape}; give one integer a sample"
        if not 0 < len(labels) == len(inputs):
            return f"there are {len(inputs)} {part}_inputs and {len(labels)} {part}_labels"
        if labels.min() < 0 or labels.max() >= data.classes:
            lowest, highest = labels.min(), labels.max()
            return f"{part}_labels go from {lowest} to {highest}; count {data.classes} from 0"
        if inputs.dtype.kind == "f" and not np.isfinite(inputs[:]).all():
            return f"some of the {part}_inputs are not finite; leave those out"
    if data.train_inputs.shape[1:] != data.test_inputs.shape[1:]:
        return "train_inputs and test_inputs differ in shape"
    return _fault_of_scale(data)


def _fault_of_scale(data: Dataset) -> str | None:
    if len(data.mean) != len(data.std) or any(not std > 0 for std in data.std):
        return "give mean and std together, equally many, and every std above 0"
    if data.tokens and data.mean:
        return "tokens have no mean and std; leave these out"
    if len(data.mean) not in (0, 1, data.shape[0]):
        return f"there are {len(data.mean)} means for {data.shape[0]} channels or numbers"
    return None


def _inputs(given: np.ndarray | SelectedRows) -> np.ndarray:
    """Return inputs in the type that their kind has: bytes, float32 or int64."""
    plain = np.asarray(given[:])
    if plain.dtype == np.uint8:
        return plain
    return plain.astype(np.int64 if is_tokens(plain.dtype) else np.float32, copy=False)
