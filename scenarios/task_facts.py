"""What the planner needs to know about the data and the model, which no scenario says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocols.costs import StepCosts


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """Sizes and computing costs of the data and the model; `runner.preparation` finds them."""

    samples: Sequence[int]  # of each client
    flops_per_step: int  # of one training step with a full batch
    tensors: Mapping[str, tuple[str, tuple[int, ...]]]  # the model's: name -> (dtype, shape)
    classes: int = 0  # of the data set
    server_samples: int = 0  # samples that the server holds itself
    server_bytes: int = 0  # their size on the wire
    costs: StepCosts | None = None  # by layer, for methods that add work to a step
