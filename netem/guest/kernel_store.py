"""Where the kernels are that were built, and which sources did not make one."""

import hashlib
import os
from pathlib import Path

from netem.guest import kernel_build, patches
from netem.guest.sources import Source


def kernels() -> Path:
    """Return the directory of the kernels that were built."""
    return user_cache() / "metronome" / "kernels"


def user_cache() -> Path:
    """Return the directory in which this user's programs keep what they can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()


def key(source: Source) -> str:
    """Name a kernel by all that goes into it; its source by date and size, which is cheap."""
    found = source.path.stat()
    return f"{configuration_key()}-{int(found.st_mtime):x}{found.st_size:x}"


def configuration_key() -> str:
    """Name all that goes into a kernel besides its source."""
    parts = [kernel_build.CONFIG.read_bytes(), *patches.digest_parts()]
    parts += [kernel_build.COMPILER_OPTIONS.encode(), kernel_build.DRIVERS.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def built_from(source: Source) -> Path | None:
    """Return the kernel that was built from this source, if there is one."""
    path = kernels() / key(source) / "linux"
    return path if path.exists() else None


def any_built() -> Path | None:
    """Return a kernel of this configuration, whatever it was built from."""
    found = sorted(kernels().glob(f"{configuration_key()}-*/linux"))
    return found[-1] if found else None


def log_of(source: Source) -> Path:
    """Return where the tools' output of a build goes; it stays when the build fails."""
    return kernels() / f"{key(source)}.log"


def misfit(source: Source) -> str | None:
    """Return why an earlier build from this source failed; None when there was none."""
    try:
        return _note(source).read_text(encoding="utf-8").strip() or "its build failed"
    except OSError:
        return None


def remember_misfit(source: Source, reason: str) -> None:
    """Keep the reason, so that this source is not tried again at every start."""
    _note(source).write_text(f"{reason}\n", encoding="utf-8")


def forget_misfits() -> None:
    """Let every source be tried again."""
    for note in kernels().glob(f"{configuration_key()}-*.misfit"):
        note.unlink(missing_ok=True)


def _note(source: Source) -> Path:
    return kernels() / f"{key(source)}.misfit"
