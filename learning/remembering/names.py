"""The name of a training or an evaluation: a digest of everything that its result depends on."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import xxhash

from contracts.training import SERVER, Task
from learning.models.registry import MODELS, Shape
from learning.remembering.engine import engine, rules
from learning.training.run_data import RunData
from protocols.registry import PROTOCOLS

# What a task is called, and where its samples are listed, does not change its result.
_APART = ("job", "client", "tensors")
_SETTINGS = [field.name for field in fields(Task) if field.name not in _APART]


class Names:
    """Names what is trained and evaluated on one run's data, with one run's model."""

    def __init__(self, data: RunData, model: str) -> None:
        self._data = data
        set_ = data.dataset
        # Not the data set's name: its samples are what counts.
        made = [engine(), *made_by(model), *set_.shape, set_.classes, set_.mean, set_.std]
        self._common = json.dumps(made)
        self._samples: dict[int, bytes] = {}
        self._test: bytes | None = None

    def of_training(self, task: Task) -> str:
        """Name a training by all that its task says, and the samples of its client."""
        settings = {name: getattr(task, name) for name in _SETTINGS}
        code = rules() + PROTOCOLS.code(task.rule) if task.rule else ""
        return self._name("training", [code, settings], self._of(task.client), task.tensors)

    def of_evaluation(self, tensors: Mapping[str, np.ndarray]) -> str:
        """Name the scores of a model on the test set."""
        if self._test is None:
            inputs, labels = self._data.dataset.test_inputs, self._data.dataset.test_labels
            self._test = _digest(inputs[:], labels)
        return self._name("evaluation", [], self._test, tensors)

    def of_dissimilarity(self, tensors: Mapping[str, np.ndarray]) -> str:
        """Name how much the gradients of all clients and the server differ at a model."""
        owners = [*range(len(self._data.partition)), *([SERVER] if self._data.server else [])]
        samples = b"".join(map(self._of, owners))
        return self._name("dissimilarity", [self._data.server is not None], samples, tensors)

    def of_beginning(self, tensors: Mapping[str, np.ndarray]) -> str:
        """Name a run's first model on its data: whoever trained from it before knows this name."""
        return self._name("beginning", [], self._of(0), tensors)

    def _of(self, client: int) -> bytes:
        """Return the digest of a client's samples."""
        if client not in self._samples:
            self._samples[client] = _digest(*self._data.raw(client))
        return self._samples[client]

    def _name(
        self, kind: str, settings: list[Any], samples: bytes, tensors: Mapping[str, np.ndarray]
    ) -> str:
        described = [(name, str(array.dtype), array.shape) for name, array in tensors.items()]
        head = json.dumps([kind, self._common, settings, described], sort_keys=True)
        found = xxhash.xxh3_128(f"{len(head)} {len(samples)} {head}".encode())
        found.update(samples)
        for array in tensors.values():
            found.update(_bytes(array))
        return found.hexdigest()


def made_by(model: str) -> list[str]:
    """Name a model: by its name, and by the code of the plug-in that brings it, if one does."""
    code = MODELS.code(model)
    return [model, code] if code else [model]


def of_first_model(model: str, shape: Shape, classes: int, seed: int) -> str:
    """Name the weights that a model begins with."""
    content = json.dumps(["first model", engine(), *made_by(model), *shape, classes, seed])
    return xxhash.xxh3_128(content.encode()).hexdigest()


def _digest(inputs: np.ndarray, labels: np.ndarray) -> bytes:
    found = xxhash.xxh3_128(f"{inputs.dtype}{inputs.shape}{labels.dtype}{labels.shape}".encode())
    found.update(_bytes(inputs))
    found.update(_bytes(labels))
    return found.digest()


def _bytes(array: np.ndarray) -> memoryview:
    plain = np.ascontiguousarray(array)
    return plain.data.cast("B") if plain.size else memoryview(b"")
