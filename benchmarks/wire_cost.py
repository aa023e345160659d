"""Compares the wire format's encode and decode with torch.save and load, for three model sizes.

Run from the root of the repository: python -m benchmarks.wire_cost
"""

import io
import time
from collections.abc import Callable

import torch
from torch import nn

from contracts.messages import Kind
from learning.models import registry as models
from protocols.wire import Expected, Message, decode, encode

REPETITIONS = 25
GOAL = 0.05  # of torch's cost, for the largest model


def seconds(action: Callable[[], None]) -> float:
    """Return the host seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(module: nn.Module) -> tuple[int, float, float]:
    """Return the number of parameters and the best times of the wire and of torch.

    The two are measured in turns.
    """
    tensors = dict(models.named_weights(module))
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    expected = Expected(
        kinds=frozenset({Kind.UPDATE}),
        local_round=3,
        shapes={name: (array.dtype.name, array.shape) for name, array in arrays.items()},
    )

    def wire() -> None:
        decode(encode(Message(Kind.UPDATE, "client1", 3, {}, arrays)), expected)

    def with_torch() -> None:
        file = io.BytesIO()
        torch.save(tensors, file)
        file.seek(0)
        torch.load(file, weights_only=True)

    pairs = [(seconds(wire), seconds(with_torch)) for _ in range(REPETITIONS)]
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return parameters, min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def main() -> None:
    """Print one line per model, and whether the goal is met."""
    modules = [
        models.build("lenet5", shape=(1, 28, 28), classes=10, seed=1),
        nn.Sequential(nn.Linear(784, 1200), nn.Linear(1200, 1020), nn.Linear(1020, 10)),
        models.build("resnet18", shape=(3, 32, 32), classes=10, seed=1),
    ]
    print("parameters  encode+decode  torch.save+load   ratio")
    for module in modules:
        parameters, wire, with_torch = measure(module)
        ratio = wire / with_torch
        print(f"{parameters:10,}  {wire * 1e3:10.3f} ms  {with_torch * 1e3:12.3f} ms  {ratio:6.1%}")
    print(f"goal for the largest: under {GOAL:.0%}: {'met' if ratio < GOAL else 'missed'}")


if __name__ == "__main__":
    main()
