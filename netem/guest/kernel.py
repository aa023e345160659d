"""The time-travel kernel of the virtual clock: built on first use, then kept per user.

`python3 -m netem.guest.kernel` builds it; so this and what it imports need no other package.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from contracts.errors import BadInput
from netem.guest import kernel_build, patches
from netem.guest.kernel_build import Report

WAIT_SECONDS = 3600.0
LOG_LINES_SHOWN = 12
VERSION_SECONDS = 5.0


def cached() -> Path | None:
    """The kernel, if it has been built; costs a few stat calls."""
    path = kernels() / key() / "linux"
    if path.exists():
        return path
    if kernel_build.best_source():
        return None
    # The source has been removed since: any kernel of this configuration will do.
    found = sorted(kernels().glob(f"{configuration_key()}-*/linux"))
    return found[-1] if found else None


def ensure(report: Report) -> Path:
    """The kernel's path; builds it when nobody has, waits when somebody else is building it."""
    if path := cached():
        return path
    root = kernels()
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / f"{key()}.lock").open("a+")
    except OSError as error:
        raise BadInput(
            f"{root}: the kernel of the virtual clock cannot be kept here ({error.strerror}); "
            "set XDG_CACHE_HOME to a directory you can write"
        ) from error
    with lock:
        wait_for_turn(lock, report)
        return cached() or build(root, lock, report)


def describe() -> str:
    """One line for `metronome kernel` and `metronome doctor`."""
    if path := cached():
        return f"built, {path} ({path.stat().st_size / 1e6:.1f} MB)"
    if missing := kernel_build.missing_packages():
        return f"not built, and cannot be: needs {' '.join(missing)} (sudo apt-get install -y)"
    return "not built yet; `./metronome kernel` builds it in some four minutes on two cores"


def identity(path: Path) -> str:
    """A guest kernel as the records name it: its version and, if it is ours, its key."""
    command = [str(path), "--version"]
    try:
        said = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_SECONDS
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.SubprocessError):
        said = ""
    is_ours = path.is_relative_to(kernels())
    return f"{said.strip() or 'unknown'} ({path.parent.name if is_ours else path.name})"


def kernels() -> Path:
    """The directory of the kernels that were built."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "metronome" / "kernels"


def key() -> str:
    """Names a kernel by all that goes into it; the source by its date and size, which is cheap."""
    found = kernel_build.best_source()
    if found is None:
        return f"{configuration_key()}-none"
    source = found.path.stat()
    return f"{configuration_key()}-{int(source.st_mtime):x}{source.st_size:x}"


def configuration_key() -> str:
    """Names all that goes into a kernel besides its source."""
    parts = [kernel_build.CONFIG.read_bytes(), *patches.digest_parts()]
    parts += [kernel_build.COMPILER_OPTIONS.encode(), kernel_build.DRIVERS.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def wait_for_turn(lock: TextIO, report: Report) -> None:
    """Takes the lock; meanwhile passes on what the builder who has it writes into its file."""
    deadline = time.monotonic() + WAIT_SECONDS
    told = None
    while not taken(lock):
        lock.seek(0)
        if told is None:
            report("kernel: another process is building it; waiting")
            told = ""
        elif (news := lock.read().strip()) and news != told:
            report(f"{news} (by another process)")
            told = news
        if time.monotonic() > deadline:
            raise BadInput(
                f"{lock.name}: another process has been building the kernel for "
                f"{WAIT_SECONDS / 60:.0f} minutes; end that process and try again"
            )
        time.sleep(0.2)


def taken(lock: TextIO) -> bool:
    """Whether the lock could be had without waiting; it is then held."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def build(root: Path, lock: TextIO, report: Report) -> Path:
    """Builds aside and renames, so that a kernel is there whole or not at all; holds the lock."""

    def tell(line: str) -> None:
        lock.seek(0)
        lock.truncate()
        lock.write(line)
        lock.flush()
        report(line)

    sweep(root)
    log = root / f"{key()}.log"
    log.unlink(missing_ok=True)
    with scratch(root) as place:
        started = time.monotonic()
        try:
            kernel = kernel_build.build(place, log, tell)
        except RuntimeError as error:
            raise BadInput(f"{error}; the whole log is {log}\n{last_lines(log)}") from error
        finished = place / "finished"
        finished.mkdir()
        kernel.rename(finished / "linux")
        target = root / key()
        shutil.rmtree(target, ignore_errors=True)
        finished.rename(target)
    log.unlink(missing_ok=True)
    tell(f"kernel: built in {time.monotonic() - started:.0f} s")
    return target / "linux"


@contextlib.contextmanager
def scratch(root: Path) -> Iterator[Path]:
    """An empty directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(dir=root, prefix=f"{key()}.", suffix=".building"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def sweep(root: Path) -> None:
    """Removes what builders left who died: this kernel's lock is held, others' can be had."""
    for place in root.glob("*.building"):
        owner = place.name.partition(".")[0]
        with (root / f"{owner}.lock").open("a+") as lock:
            if owner == key() or taken(lock):
                shutil.rmtree(place, ignore_errors=True)


def last_lines(log: Path) -> str:
    """The end of a build's log, for an error message."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])


def main() -> int:
    """`python3 -m netem.guest.kernel`: builds the kernel with nothing but Python itself.

    The set-up starts it while other packages are still being fetched; it says what it does on
    stderr, and ends with 0, or with 2 and one sentence.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # takes its scratch files along
    try:
        ensure(lambda line: print(line, file=sys.stderr, flush=True))
    except BadInput as error:
        print(f"metronome: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
