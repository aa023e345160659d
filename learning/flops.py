"""What one training step costs, counted once per model, image shape and batch size.

A multiplication and an addition count as two operations, as torch's counter has it. The counts are
kept on disk, so that planning a run does not import torch.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from learning import models
from learning.cache import cache_dir, write_json

DEFINITIONS = ("models.py", "lenet.py", "fsl_cnn.py", "multicell_cnn.py", "resnet.py")


def training_flops(model: str, channels: int, size: int, classes: int, batch_size: int) -> int:
    """Floating-point operations of one training step: forward and backward."""
    return _counts(model, channels, size, classes, batch_size)["training"]


def forward_flops(model: str, channels: int, size: int, classes: int, batch_size: int) -> int:
    """Floating-point operations of the forward pass alone."""
    return _counts(model, channels, size, classes, batch_size)["forward"]


def model_bytes(model: str, channels: int, size: int, classes: int) -> int:
    """Bytes of the weights as they are exported and sent."""
    return _counts(model, channels, size, classes, 1)["bytes"]


def _counts(model: str, channels: int, size: int, classes: int, batch_size: int) -> dict[str, int]:
    models.check(model, size)
    name = f"{model}-{channels}x{size}x{size}-{classes}-{batch_size}-{_definitions()}.json"
    path = cache_dir() / "flops" / name
    with suppress(OSError, ValueError):
        stored: dict[str, int] = json.loads(path.read_text())
        return stored
    counts = _count(model, channels, size, classes, batch_size)
    with suppress(OSError):
        write_json(path, counts)
    return counts


def _definitions() -> str:
    """Changes with the files that define the models, so that no stale count is used."""
    folder = Path(__file__).parent
    content = b"".join((folder / file).read_bytes() for file in DEFINITIONS)
    return hashlib.sha256(content).hexdigest()[:12]


def _count(model: str, channels: int, size: int, classes: int, batch_size: int) -> dict[str, int]:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    module = models.build(model, channels, size, classes, seed=0)
    sent = sum(array.nbytes for array in models.export(module).values())
    # Meta tensors have shapes but no content: the operations are counted, not computed.
    module.to("meta")
    images = torch.empty(batch_size, channels, size, size, device="meta")
    with FlopCounterMode(display=False) as forward:
        outputs = module(images)
    with FlopCounterMode(display=False) as backward:
        outputs.sum().backward()
    return {
        "forward": forward.get_total_flops(),
        "training": forward.get_total_flops() + backward.get_total_flops(),
        "bytes": sent,
    }
