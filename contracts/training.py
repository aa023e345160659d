"""Training as nodes see it: submit a task, collect its result. No torch here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

SERVER = -1  # the index by which the server's own samples are asked for
# Samples that a task brings along, which are trained on beside the client's own: pixels as bytes.
EXTRA_IMAGES, EXTRA_LABELS = "samples/images", "samples/labels"
JOB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How every client of a run trains; learning/training/learning_rate.py works out the rate."""

    batch_size: int
    learning_rate: float
    learning_rate_decay: float = 1.0  # a factor after every round
    learning_rate_drops: tuple[int, ...] = ()  # rounds from which on it is a tenth of before
    momentum: float
    weight_decay: float
    shuffle: bool

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "TrainingSettings":
        """From what plan.json has."""
        drops = tuple(tree.get("learning_rate_drops", ()))
        return cls(**{**tree, "learning_rate_drops": drops})


class TrainingFailed(Exception):
    """A job ended without a result; the sentence says which job and why."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to train, on whose samples, and how."""

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
    steps: int = 0  # stop after so many batches, also amid an epoch; 0: all of all epochs

    def __post_init__(self) -> None:
        if not JOB_NAME.fullmatch(self.job):
            raise ValueError(f"job {self.job!r} is not safe as a file name")


@dataclass(frozen=True, slots=True)
class Result:
    """What training gave, and what it cost the host."""

    tensors: dict[str, np.ndarray]
    samples: int
    steps: int
    loss: float
    host_seconds: float


class Pending(Protocol):
    """A job under way."""

    def result(self, deadline_seconds: float) -> Result:
        """Wait for the result; TimeoutError after the deadline, TrainingFailed with the reason."""
        ...


class Trainer(Protocol):
    """Whoever trains: this process, or a pool of workers on the host."""

    def submit(self, task: Task) -> Pending:
        """Start a job and return at once; the task's tensors must not change until it ends."""
        ...

    def close(self) -> None:
        """Give up what was not collected."""
        ...
