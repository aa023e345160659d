"""What the planner must know of a task that no scenario says: it follows from data and model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocols.costs import StepCosts


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """The sizes and costs of a scenario's data and model, found out by whoever prepares a run."""

    samples: Sequence[int]  # of each client, in order
    flops_per_step: int  # of one training step with a full batch
    tensors: Mapping[str, tuple[str, tuple[int, ...]]]  # the model's: name -> (dtype, shape)
    classes: int = 0  # of the data set
    server_samples: int = 0  # how many samples the server has of its own
    server_bytes: int = 0  # and their size as they travel
    costs: StepCosts | None = None  # layer by layer, for methods whose local step does more
