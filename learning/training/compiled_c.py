"""Compiles C files on first use with the machine's compiler and caches the libraries per user."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from learning.user_cache import cache_dir

# Sums may be reordered, which vectorising needs; no option changes other code's arithmetic.
_OPTIONS = (
    *("-O3", "-march=native", "-shared", "-fPIC", "-fassociative-math", "-fno-signed-zeros"),
    *("-fno-trapping-math", "-fno-math-errno"),
)
_COMPILE_SECONDS = 900.0  # it takes some seconds; only a compiler that hangs takes longer


@cache
def compiled_library(name: str) -> ctypes.CDLL | None:
    """Load NAME.c, beside this file, as a library; log a line and return None if that fails."""
    source = Path(__file__).with_name(f"{name}.c")
    compiler = shutil.which("gcc")
    if compiler is None:
        print(f"{source.name}: no gcc here, torch does the work", file=sys.stderr)
        return None
    try:
        path = _library_path(source, compiler)
        if not path.exists():
            _compile(source, compiler, path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{source.name}: not compiled, torch does the work: {error}", file=sys.stderr)
        return None


def _library_path(source: Path, compiler: str) -> Path:
    """Return the library's path in the cache, keyed by source, options, compiler and processor."""
    abilities = re.search(r"^(flags|Features)\s*:.*$", Path("/proc/cpuinfo").read_text(), re.M)
    parts = [source.read_bytes(), " ".join(_OPTIONS).encode()]
    program = os.stat(compiler)
    parts += [f"{program.st_size} {program.st_mtime_ns}".encode()]
    parts += [abilities[0].encode() if abilities else b""]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    return cache_dir() / "native" / f"{source.stem}-{key}.so"


def _compile(source: Path, compiler: str, path: Path) -> None:
    """Compile into a temporary folder, then rename, since several workers may start at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder, path.name)
        command = [compiler, *_OPTIONS, "-o", str(made), str(source), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=_COMPILE_SECONDS)
        made.rename(path)
