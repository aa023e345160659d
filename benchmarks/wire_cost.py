"""Compares the wire format's encode and decode with torch.save and load, for three model sizes.

Run from the root of the repository: python -m benchmarks.wire_cost
"""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import nn

from contracts.messages import Kind
from learning.models import registry as models
from protocols.wire import Expected, Message, decode, encode

Codec = Callable[[Mapping[str, torch.Tensor]], None]

REPETITIONS = 25
GOAL = 0.05  # of torch's cost, for the largest model


def seconds(action: Callable[[], None]) -> float:
    """Return the processor seconds of one call: they depend little on what else the host does."""
    start = time.process_time()
    action()
    return time.process_time() - start


def wire(tensors: Mapping[str, torch.Tensor]) -> None:
    """Encode and decode a model as ours travel."""
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    expected = Expected(
        kinds=frozenset({Kind.UPDATE}),
        local_round=3,
        shapes={name: (array.dtype.name, array.shape) for name, array in arrays.items()},
    )
    decode(encode(Message(Kind.UPDATE, "client1", 3, {}, arrays)), expected)


def with_torch(tensors: Mapping[str, torch.Tensor]) -> None:
    """Save and load it with torch."""
    file = io.BytesIO()
    torch.save(dict(tensors), file)
    file.seek(0)
    torch.load(file, weights_only=True)


def measure(module: nn.Module, codecs: Sequence[Codec]) -> tuple[int, list[float]]:
    """Return the number of parameters and the best time of each codec; they take turns."""
    tensors = dict(models.named_weights(module))
    times = [[seconds(partial(codec, tensors)) for codec in codecs] for _ in range(REPETITIONS)]
    parameters = sum(parameter.numel() for parameter in module.parameters())
    return parameters, [min(taken) for taken in zip(*times, strict=True)]


def modules() -> list[nn.Module]:
    """Return a small, a middling and a large model."""
    return [
        models.build("lenet5", shape=(1, 28, 28), classes=10, seed=1),
        nn.Sequential(nn.Linear(784, 1200), nn.Linear(1200, 1020), nn.Linear(1020, 10)),
        models.build("resnet18", shape=(3, 32, 32), classes=10, seed=1),
    ]


def main() -> None:
    """Print one line per model, and whether the goal is met."""
    print("parameters  encode+decode  torch.save+load   ratio")
    for module in modules():
        parameters, (ours, torchs) = measure(module, [wire, with_torch])
        ratio = ours / torchs
        print(f"{parameters:10,}  {ours * 1e3:10.3f} ms  {torchs * 1e3:12.3f} ms  {ratio:6.1%}")
    print(f"goal for the largest: under {GOAL:.0%}: {'met' if ratio < GOAL else 'missed'}")


if __name__ == "__main__":
    main()
