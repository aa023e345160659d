"""The cost of a model's training step, for methods whose local step does more than plain SGD.

Such a method defines `extra_flops(costs) -> list[float]` in its file: the extra floating-point
operations of the successive steps of a local training, as a cycle that repeats. The planner
converts them to seconds for each device.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class StepCosts:
    """Costs for a full batch; layers are those with parameters, numbered from 0 as they run."""

    parameters: int
    batch_size: int
    forward: tuple[int, ...]  # FLOPs of the forward pass up to and including each layer
    representations: tuple[int, ...]  # size of each layer's output
