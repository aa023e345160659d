"""How many workers there is memory for: each of them loads torch, and so does the evaluator.

A run in too little memory does not fail by itself. The kernel gives up pages of torch's libraries
and of a guest's memory on a disk, reads them again at once, and hardly anything gets on.
"""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from contracts.errors import BadInput
from netem import memory_left


@dataclass(frozen=True)
class _Torch:
    """What torch takes, in bytes: its libraries, which all share, and each process for itself."""

    libraries: int
    process: int


# Measured with the quick start (docs/machines.md).
_WITHOUT_CUDA = _Torch(libraries=140 << 20, process=160 << 20)
_WITH_CUDA = _Torch(libraries=330 << 20, process=300 << 20)


def workers_that_fit(wanted: int, guest_bytes: int, data_bytes: int = 0) -> int:
    """Return how many of these workers fit beside the evaluator and a guest of this size.

    At least one does: BadInput if not. A guest has rarely more than half of its memory in use. Each
    worker has `data_bytes` of samples and models besides torch. More workers than cores leave a
    quarter of the memory to others: all of them at work may take more than they did at first.
    """
    torch, left = _torch(), memory_left.memory_left()
    rest = guest_bytes // 2 + torch.libraries + torch.process
    each = torch.process + data_bytes
    needed = rest + min(wanted, 1) * each
    if left < needed:
        raise BadInput(
            f"memory: this run needs about {needed >> 20} MB, and {left >> 20} MB are left on this "
            "machine or below its control group's limit; free some, raise the limit (docker run "
            "--memory), or use fewer clients"
        )
    one_a_core = min((left - rest) // each, len(os.sched_getaffinity(0)))
    return min(wanted, max(one_a_core, (left * 3 // 4 - rest) // each))


def _torch() -> _Torch:
    """Return what the installed torch takes; nothing is imported."""
    found = find_spec("torch")
    assert found is not None and found.origin is not None
    cuda = Path(found.origin).with_name("lib") / "libtorch_cuda.so"
    return _WITH_CUDA if cuda.exists() else _WITHOUT_CUDA
