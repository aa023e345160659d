"""What a process needs to train and evaluate for one run: data, partition, model and device."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from learning.data.dataset import Dataset
from learning.models import registry as models
from learning.training import lenet_in_c
from learning.training.memory import keep_freed_memory
from learning.training.run_data import CACHED_BYTES, RunData, learning_settings


class TrainingContext:
    """Holds a run's data and one module that every task reuses.

    Samples of recently used clients stay normalised in memory, up to `cached_bytes`.
    """

    def __init__(
        self,
        dataset: Dataset,
        partition: Sequence[np.ndarray],
        module: nn.Module,
        device: torch.device | None = None,
        cached_bytes: int = CACHED_BYTES,
        server: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.dataset = dataset
        self.partition = partition
        self.device = device or torch.device("cpu")
        self.module = module.to(self.device)
        self.data = RunData(dataset, partition, server)
        self._cached_bytes = cached_bytes
        self._samples: OrderedDict[int, tuple[Tensor, Tensor]] = OrderedDict()
        on_cpu = self.device.type == "cpu"
        self.trains_in_c = on_cpu and lenet_in_c.can_train(module, dataset.shape, dataset.classes)
        along_first = (1, -1, *[1] * (len(dataset.shape) - 1))  # an image's channels
        self._mean = torch.tensor(dataset.mean).view(along_first)
        self._std = torch.tensor(dataset.std).view(along_first)

    @classmethod
    def load(cls, run_dir: Path) -> TrainingContext:
        """Read the run's inputs; use a GPU if there is one, else one core of the CPU.

        Each process uses one thread, because the pool has a process per core, and because a result
        must not depend on how many threads computed it.
        """
        keep_freed_memory()
        torch.set_num_threads(1)
        torch.backends.cudnn.deterministic = True
        settings, data = learning_settings(run_dir), RunData.load(run_dir)
        shape, classes = data.dataset.shape, data.dataset.classes
        module = models.build(settings["model"], shape, classes, settings["seed"])
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return cls(data.dataset, data.partition, module, device, server=data.server)

    def warm_up(self) -> None:
        """Do one step without effect, as the first step of a process is far slower."""
        inputs, labels = self.samples(0)
        torch.nn.functional.cross_entropy(self.module(inputs[:2]), labels[:2]).backward()
        self.module.zero_grad(set_to_none=True)

    def samples(self, client: int) -> tuple[Tensor, Tensor]:
        """Return the normalised inputs and the labels of a client (or SERVER), on the device."""
        if client in self._samples:
            self._samples.move_to_end(client)
            return self._samples[client]
        raw_inputs, raw_labels = self.data.raw(client)
        inputs = self.normalised(raw_inputs)
        labels = torch.tensor(raw_labels, device=self.device)
        self._samples[client] = inputs, labels
        while len(self._samples) > 1 and self._held() > self._cached_bytes:
            self._samples.popitem(last=False)
        return inputs, labels

    @property
    def has_server_samples(self) -> bool:
        """Whether the server has samples of its own."""
        return self.data.server is not None

    def normalised(self, raw: np.ndarray) -> Tensor:
        """Return inputs as the model takes them, on the device: tokens as they are.

        Other numbers become floats, pixels in 0..1; then the data set's mean and deviation for
        each channel become 0 and 1.
        """
        inputs = torch.tensor(raw)
        if self.dataset.tokens:
            return inputs.to(self.device)
        inputs = inputs.float().div_(255) if inputs.dtype == torch.uint8 else inputs.float()
        if self.dataset.mean:
            inputs.sub_(self._mean).div_(self._std)
        return inputs.to(self.device)

    def _held(self) -> int:
        return sum(inputs.nbytes + labels.nbytes for inputs, labels in self._samples.values())
