"""What the bits of a result depend on besides its task: software, processor, and our own code."""

import hashlib
import importlib.metadata
import os
import re
from functools import cache
from pathlib import Path

from contracts.project import ROOT
from learning.torch_version import torch_version
from learning.training.compiled_c import compiled_library

_PROCESSORS = Path("/proc/cpuinfo")
# Any of these may be a graphics card that torch trains on (NVIDIA's, also below Windows, or AMD's).
_CARDS = tuple(map(Path, ("/dev/nvidia0", "/proc/driver/nvidia", "/dev/dxg", "/dev/kfd")))
# Of the processor: what kernels are chosen by. Its clock rate and number do not matter.
_TELLING = re.compile(
    r"vendor_id|cpu family|model( name)?|stepping|cache size|flags|Features"
    r"|CPU (implementer|architecture|variant|part|revision)"
)
# Variables that make libraries choose other kernels.
_VARIABLES = re.compile(
    r"(ATEN|BLIS|CUBLAS|CUDA|CUDNN|DNNL|HIP|HSA|MKL|NVIDIA|ONEDNN|OPENBLAS_CORE|PYTORCH|ROCR|TORCH)\w*"
    r"|GLIBC_TUNABLES|LD_PRELOAD|LD_LIBRARY_PATH"
)
_CODE = ("learning/models", "learning/training", "learning/evaluation")
_RULES = "protocols"


@cache
def engine() -> str:
    """Name everything that may change a bit of a training or an evaluation done here."""
    _stamps()
    parts = [f"torch {torch_version()}", f"numpy {importlib.metadata.version('numpy')}"]
    parts += [os.confstr("CS_GNU_LIBC_VERSION") or "", processor(_PROCESSORS), _graphics()]
    parts += [f"{name}={os.environ[name]}" for name in sorted(os.environ) if _telling(name)]
    parts += [_compiled(), *(digest_of(ROOT / folder) for folder in _CODE)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def rules() -> str:
    """Name the code of the methods, whose local rules change the steps of a training."""
    _stamps()
    return digest_of(ROOT / _RULES)


def unchanged() -> bool:
    """Return whether our code is still what `engine` and `rules` have named.

    Python reads a module when it is first needed, which may be long after.
    """
    return _stamps() == _stamps.__wrapped__()


@cache
def _stamps() -> tuple[tuple[str, int, int], ...]:
    files = (path for folder in (*_CODE, _RULES) for path in _sources(ROOT / folder))
    found = ((str(path), path.stat()) for path in files)
    return tuple((name, status.st_mtime_ns, status.st_size) for name, status in found)


def processor(described: Path) -> str:
    """Return what /proc/cpuinfo says about the first processor, without what does not matter."""
    try:
        first = described.read_text(errors="replace").split("\n\n")[0]
    except OSError:
        return ""
    pairs = (line.partition(":") for line in first.splitlines())
    return "\n".join(
        f"{name.strip()}:{text}" for name, _, text in pairs if _TELLING.fullmatch(name.strip())
    )


def digest_of(folder: Path) -> str:
    """Name the contents of the source files directly in a folder."""
    found = hashlib.sha256()
    for path in _sources(folder):
        content = path.read_bytes()
        found.update(f"{path.name} {len(content)}\0".encode() + content)
    return found.hexdigest()


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".py", ".c"))


def _telling(variable: str) -> bool:
    return _VARIABLES.fullmatch(variable) is not None


def _graphics() -> str:
    """Name the graphics card that torch would train on."""
    if not any(path.exists() for path in _CARDS):
        return ""
    import torch

    if not torch.cuda.is_available():
        return ""
    return f"{torch.cuda.get_device_name()} {torch.backends.cudnn.version()} {torch.version.cuda}"


def _compiled() -> str:
    """Name the bits of LeNet-5 in C, which depend on the compiler too."""
    library = compiled_library("lenet5")
    return "" if library is None else hashlib.sha256(Path(library._name).read_bytes()).hexdigest()
