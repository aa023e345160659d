"""Training as nodes see it: submit a task and collect its result. Needs no torch."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

SERVER = -1  # instead of a client's index: the server's own samples
# Samples that a task brings along, to train on besides the client's own; pixels are bytes.
EXTRA_IMAGES, EXTRA_LABELS = "samples/images", "samples/labels"
JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How every client of a run trains; learning.training.learning_rate computes the rate."""

    batch_size: int
    learning_rate: float
    learning_rate_decay: float = 1.0  # a factor after every round
    learning_rate_drops: tuple[int, ...] = ()  # from each of these rounds on, a tenth of before
    momentum: float
    weight_decay: float
    shuffle: bool

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "TrainingSettings":
        """Read it from plan.json."""
        drops = tuple(tree.get("learning_rate_drops", ()))
        return cls(**{**tree, "learning_rate_drops": drops})


class TrainingFailed(Exception):
    """A job ended without a result; the sentence says which job and why."""


@dataclass(frozen=True, slots=True)
class Task:
    """A training to be done: what to train, on whose samples, and how."""

    job: str  # unique within a run and safe as a file name, e.g. "client3-r2-i1"
    client: int  # index into the run's partition, or SERVER: whose samples to train on
    epochs: int
    batch_size: int
    learning_rate: float
    momentum: float
    weight_decay: float
    shuffle: bool
    seed: int  # fixes batch order and dropout
    rule: str  # "" is plain SGD, else the protocol whose `local_rule` changes the step
    settings: dict[str, Any]  # that rule's settings, plain data
    # The model's weights by state_dict name; a rule's extras under names starting "rule/", and
    # perhaps samples to train on besides.
    tensors: dict[str, np.ndarray]
    steps: int = 0  # stop after this many batches, even within an epoch; 0: do all epochs

    def __post_init__(self) -> None:
        if not JOB_NAME.fullmatch(self.job):
            raise ValueError(f"job {self.job!r} is not safe as a file name")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a training, and the time that it took on the host."""

    tensors: dict[str, np.ndarray]
    samples: int
    steps: int
    loss: float
    host_seconds: float


class Pending(Protocol):
    """A job that has been submitted."""

    def result(self, deadline_seconds: float) -> Result:
        """Wait for the result; TimeoutError after the deadline, TrainingFailed with the reason."""
        ...


class Trainer(Protocol):
    """Trains for a node: in this process, or by a pool of workers on the host."""

    def submit(self, task: Task) -> Pending:
        """Start a job and return at once; the task's tensors must not change until it ends."""
        ...

    def close(self) -> None:
        """Drop the jobs whose results were not collected."""
        ...
