"""The cost of one training step, counted once per model, sample shape and batch size.

A multiplication and an addition count as two operations, as in torch's counter. The counts are
cached on disk, so that planning a run does not import torch.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from learning.models import registry as models
from learning.models.registry import Shape
from learning.user_cache import cache_dir, write_json
from protocols.costs import StepCosts
from protocols.layers import observe_layers

DEFINITIONS = (
    *("registry.py", "fedrl_cnn.py", "fsl_cnn.py", "lenet.py", "multicell_cnn.py", "resnet.py"),
)


def training_flops(
    model: str, shape: Shape, classes: int, batch_size: int, tokens: bool = False
) -> int:
    """Return the floating-point operations of one training step, forward and backward."""
    return int(_counts(model, shape, classes, batch_size, tokens)["training"])


def forward_flops(
    model: str, shape: Shape, classes: int, batch_size: int, tokens: bool = False
) -> int:
    """Return the floating-point operations of the forward pass alone."""
    return int(_counts(model, shape, classes, batch_size, tokens)["forward"])


def step_costs(
    model: str, shape: Shape, classes: int, batch_size: int, tokens: bool = False
) -> StepCosts:
    """Return layer-by-layer costs, for methods whose local step does more than plain SGD."""
    counts = _counts(model, shape, classes, batch_size, tokens)
    return StepCosts(
        parameters=counts["parameters"],
        batch_size=batch_size,
        forward=tuple(counts["layers"]),
        representations=tuple(counts["representations"]),
    )


def model_bytes(model: str, shape: Shape, classes: int, tokens: bool = False) -> int:
    """Return the size of the weights in bytes, as they are exported and sent."""
    return int(_counts(model, shape, classes, 1, tokens)["bytes"])


def _counts(
    model: str, shape: Shape, classes: int, batch_size: int, tokens: bool
) -> dict[str, Any]:
    models.check(model, shape)
    samples = "x".join(map(str, shape)) + ("-tokens" if tokens else "")
    made_by = f"{_definitions()}{models.MODELS.code(model)}"
    name = f"{model}-{samples}-{classes}-{batch_size}-{made_by}.json"
    path = cache_dir() / "flops" / name
    with suppress(OSError, ValueError):
        stored: dict[str, Any] = json.loads(path.read_text())
        return stored
    counts = _count(model, shape, classes, batch_size, tokens)
    with suppress(OSError):
        write_json(path, counts)
    return counts


def _definitions() -> str:
    """Hash the files that define the models and this one, so that no outdated count is used."""
    folder = Path(__file__).parent
    content = b"".join((folder / file).read_bytes() for file in (*DEFINITIONS, Path(__file__).name))
    return hashlib.sha256(content).hexdigest()[:12]


def _count(model: str, shape: Shape, classes: int, batch_size: int, tokens: bool) -> dict[str, Any]:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from learning.models.trial import try_out

    module = models.build(model, shape, classes, seed=0)
    sent = sum(array.nbytes for array in models.export_weights(module).values())
    # Meta tensors have shapes but no content, so operations are counted without being computed.
    module.to("meta")
    kind = torch.int64 if tokens else torch.float32
    inputs = torch.empty(batch_size, *shape, dtype=kind, device="meta")
    layers: list[tuple[int, int]] = []
    with (
        FlopCounterMode(display=False) as forward,
        observe_layers(module, lambda _, o: layers.append((forward.get_total_flops(), o.numel()))),
    ):
        outputs = try_out(model, module, inputs, classes)
    with FlopCounterMode(display=False) as backward:
        outputs.sum().backward()
    return {
        "forward": forward.get_total_flops(),
        "training": forward.get_total_flops() + backward.get_total_flops(),
        "bytes": sent,
        "parameters": sum(parameter.numel() for parameter in module.parameters()),
        "layers": [flops for flops, _ in layers],
        "representations": [numbers for _, numbers in layers],
    }
