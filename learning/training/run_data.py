"""The samples of one run: who has which of them. Nothing here needs torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contracts import plugins
from contracts.errors import BadInput
from contracts.regular_files import read_json
from contracts.run_directory import RunDirectory, client_name
from contracts.training import SERVER
from learning.data import brought, datasets
from learning.data.dataset import Dataset

CACHED_BYTES = 256 << 20  # of samples, ready to be trained with, in every process that trains


@dataclass(frozen=True)
class RunData:
    """A data set, the rows of it that each client has, and the server's own inputs and labels."""

    dataset: Dataset
    partition: Sequence[np.ndarray]
    server: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def load(cls, run_dir: Path) -> "RunData":
        """Read what a run was prepared with; its plug-ins are there from then on."""
        plugins.bring_copies(RunDirectory(run_dir).plugins)
        settings = learning_settings(run_dir)
        data_dir = settings["data_dir"]
        dataset = datasets.load(
            settings["dataset"], Path(data_dir) if data_dir else None, settings.get("classes")
        )
        samples = settings.get("samples")  # only a plug-in's are named: they come from its code
        if samples is not None and samples != brought.digest(dataset):
            raise BadInput(
                f'data set "{dataset.name}": its function gave other samples than when the run was'
                " prepared; let it draw from a seed of its own, and read files that do not change"
            )
        with np.load(run_dir / settings["partition"], allow_pickle=False) as stored:
            partition = [stored[client_name(i)] for i in range(len(stored.files))]
        server = None
        if "server_data" in settings:
            with np.load(run_dir / settings["server_data"], allow_pickle=False) as stored:
                server = stored["images"], stored["labels"]
        return cls(dataset, partition, server)

    def raw(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs, not normalised, and the labels of a client or of the SERVER."""
        if client == SERVER:
            if self.server is None:
                raise ValueError("the server has no samples; the scenario lacks [server_data]")
            return self.server
        indices = self.partition[client]
        return self.dataset.train_inputs[indices], self.dataset.train_labels[indices]


def learning_settings(run_dir: Path) -> dict[str, Any]:
    """Read learning.json."""
    settings: dict[str, Any] = read_json(RunDirectory(run_dir).learning)
    return settings
