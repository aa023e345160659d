"""Measures the speed of this machine, for the device profile `host`."""

import time

import numpy as np
import torch

from contracts.training import Task
from learning.training.context import TrainingContext
from learning.training.sgd import train

_MEMORY_BYTES = 64 << 20
_REPEATS = 3


def seconds_per_step(
    context: TrainingContext, tensors: dict[str, np.ndarray], batch_size: int
) -> float:
    """Time one training step of this model on one core: the best of a few short trainings."""
    torch.set_num_threads(1)
    times = []
    for repeat in range(_REPEATS + 1):  # the first one warms up
        task = Task(
            job=f"host-speed-{repeat}",
            client=0,
            epochs=1,
            batch_size=batch_size,
            learning_rate=0.01,
            momentum=0.0,
            weight_decay=0.0,
            shuffle=False,
            seed=0,
            rule="",
            settings={},
            tensors=tensors,
        )
        result = train(task, context)
        times.append(result.host_seconds / result.steps)
    return min(times[1:])


def memory_bytes_per_second() -> float:
    """Measure the memory throughput of adding one array to another, as aggregation does."""
    total, part = np.zeros(_MEMORY_BYTES // 8), np.ones(_MEMORY_BYTES // 8)
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        total += part
        times.append(time.perf_counter() - start)
    return _MEMORY_BYTES / min(times)
