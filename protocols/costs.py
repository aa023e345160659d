"""What one training step of a model costs, for methods that change it.

A method whose local step does more than plain SGD says so in its file:
`extra_flops(costs) -> list[float]`, the extra floating-point operations of the successive steps of
a local training, a cycle that repeats. The planner turns them into each device's own seconds.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class StepCosts:
    """Layers are those with parameters, from 0 in the order they are run; batches are full."""

    parameters: int
    batch_size: int
    forward: tuple[int, ...]  # FLOPs of the batch's forward pass up to and including that layer
    representations: tuple[int, ...]  # numbers in that layer's output for the batch
