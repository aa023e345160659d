"""What the bits of a result depend on besides its task: software, processor, and our own code."""

import hashlib
import importlib.metadata
import os
import re
from functools import cache
from pathlib import Path

from contracts.project import ROOT
from learning.training.compiled_c import compiled_library

_PROCESSORS = Path("/proc/cpuinfo")
_NVIDIA = (Path("/dev/nvidia0"), Path("/proc/driver/nvidia"))
# Of the processor: what kernels are chosen by. Its clock rate and number do not matter.
_TELLING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
# Variables that make libraries choose other kernels.
_VARIABLES = re.compile(
    r"(ATEN|BLIS|CUBLAS|CUDA|CUDNN|DNNL|MKL|ONEDNN|OPENBLAS_CORE|PYTORCH|TORCH)\w*"
)
_CODE = ("learning/models", "learning/training", "learning/evaluation")
_RULES = "protocols"


@cache
def engine() -> str:
    """Name everything that may change a bit of a training or an evaluation done here."""
    parts = [f"{name} {importlib.metadata.version(name)}" for name in ("torch", "numpy")]
    parts += [os.confstr("CS_GNU_LIBC_VERSION") or "", processor(_PROCESSORS), _graphics()]
    parts += [f"{name}={os.environ[name]}" for name in sorted(os.environ) if _telling(name)]
    parts += [_compiled(), *(digest_of(ROOT / folder) for folder in _CODE)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def rules() -> str:
    """Name the code of the methods, whose local rules change the steps of a training."""
    return digest_of(ROOT / _RULES)


def processor(described: Path) -> str:
    """Return what /proc/cpuinfo says about the first processor, without what does not matter."""
    try:
        first = described.read_text(errors="replace").split("\n\n")[0]
    except OSError:
        return ""
    pairs = (line.partition(":") for line in first.splitlines())
    return "\n".join(
        f"{name.strip()}:{text}" for name, _, text in pairs if name.strip() in _TELLING
    )


def digest_of(folder: Path) -> str:
    """Name the contents of the source files directly in a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".py", ".c"):
            content = path.read_bytes()
            found.update(f"{path.name} {len(content)}\0".encode() + content)
    return found.hexdigest()


def _telling(variable: str) -> bool:
    return _VARIABLES.fullmatch(variable) is not None


def _graphics() -> str:
    """Name the graphics card that torch would train on."""
    if not any(path.exists() for path in _NVIDIA):
        return ""
    import torch

    if not torch.cuda.is_available():
        return ""
    return f"{torch.cuda.get_device_name()} {torch.backends.cudnn.version()} {torch.version.cuda}"


def _compiled() -> str:
    """Name the bits of LeNet-5 in C, which depend on the compiler too."""
    library = compiled_library("lenet5")
    return "" if library is None else hashlib.sha256(Path(library._name).read_bytes()).hexdigest()
