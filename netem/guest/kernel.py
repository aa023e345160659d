"""The time-travel kernel of the virtual clock: built on first use, then kept per user.

`python3 -m netem.guest.kernel` builds it; so this and what it imports need no other package.
"""

import contextlib
import fcntl
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
from netem.guest import kernel_build, kernel_store, sources
from netem.guest.kernel_build import Report
from netem.guest.kernel_store import kernels
from netem.guest.sources import Source

WAIT_SECONDS = 3600.0
VERSION_SECONDS = 5.0


def cached() -> Path | None:
    """The kernel of the best source that makes one, if it is built; costs a few stat calls."""
    for source in sources.candidates(sources.all_sources()):
        if path := kernel_store.built_from(source):
            return path
        if kernel_store.misfit(source) is None:
            return None  # a better kernel can be had than any that is there
    # The source has been removed since: any kernel of this configuration will do.
    return kernel_store.any_built()


def ensure(report: Report) -> Path:
    """The kernel's path; builds it when nobody has, waits when somebody else is building it.

    A source that does not make a kernel is passed over, and remembered; the next one is tried.
    """
    if path := cached():
        return path
    root = kernels()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise BadInput(
            f"{root}: the kernel of the virtual clock cannot be kept here ({error.strerror}); "
            "set XDG_CACHE_HOME to a directory you can write"
        ) from error
    kernel_build.check_machine(root)
    for source in sources.candidates(sources.all_sources()):
        if path := settle(source, report):
            return path
    if path := kernel_store.any_built():
        return path
    raise BadInput(
        f"the guest's kernel: no source here makes one ({'; '.join(remarks())}); install another "
        f"({kernel_build.INSTALL} linux-source) and `./metronome kernel` tries them all again; or "
        f"{kernel_build.wall_clock()}"
    )


def describe() -> str:
    """One line for `metronome kernel` and `metronome doctor`."""
    if path := cached():
        return f"built, {path} ({path.stat().st_size / 1e6:.1f} MB)"
    if missing := kernel_build.missing_packages():
        return (
            f"not built, and cannot be: {kernel_build.INSTALL} {' '.join(missing)}; "
            f"or {kernel_build.wall_clock()}"
        )
    if all(kernel_store.misfit(source) for source in sources.candidates(sources.all_sources())):
        return f"not built: no source here makes one; {kernel_build.wall_clock()}"
    return "not built yet; `./metronome kernel` builds it in some two minutes on two cores"


def remarks() -> list[str]:
    """One line for each kernel source of this machine: whether it is used, and why not."""
    taken = None  # the source that the kernel is of, or would be
    found = {}
    for source in sources.candidates(sources.all_sources()):
        if reason := kernel_store.misfit(source):
            found[source] = f"passed over: {reason}"
        elif taken is None:
            taken = source
            found[source] = "used" if kernel_store.built_from(source) else "will be used"
            found[source] += source.doubt()
        else:
            found[source] = f"not used, {taken.version_text} comes first{source.doubt()}"
    return [
        f"{source.path}: {found.get(source) or f'not used, {source.refusal()}'}"
        for source in sources.all_sources()
    ]


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


def settle(source: Source, report: Report) -> Path | None:
    """The kernel of this source, built here or by another process; None if it makes none."""
    if kernel_store.misfit(source):
        return None
    with (kernels() / f"{kernel_store.key(source)}.lock").open("a+") as lock:
        wait_for_turn(lock, report)
        if kernel_store.misfit(source):  # found by whoever had the lock
            return None
        return kernel_store.built_from(source) or build(source, lock, report)


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


def build(source: Source, lock: TextIO, report: Report) -> Path | None:
    """Builds aside and renames, so that a kernel is there whole or not at all; holds the lock."""

    def tell(line: str) -> None:
        lock.seek(0)
        lock.truncate()
        lock.write(line)
        lock.flush()
        report(line)

    root, key, log = kernels(), kernel_store.key(source), kernel_store.log_of(source)
    sweep(root, key)
    log.unlink(missing_ok=True)
    with scratch(root, key) as place:
        started = time.monotonic()
        try:
            kernel = kernel_build.build(source, place, log, tell)
        except RuntimeError as error:
            kernel_build.check_trouble(place, log)
            kernel_store.remember_misfit(source, f"{error} (log: {log})")
            tell(f"kernel: Linux {source.version_text} is passed over: {error}")
            return None
        finished = place / "finished"
        finished.mkdir()
        kernel.rename(finished / "linux")
        target = root / key
        shutil.rmtree(target, ignore_errors=True)
        finished.rename(target)
    log.unlink(missing_ok=True)
    tell(f"kernel: built in {time.monotonic() - started:.0f} s")
    return target / "linux"


@contextlib.contextmanager
def scratch(root: Path, key: str) -> Iterator[Path]:
    """An empty directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(dir=root, prefix=f"{key}.", suffix=".building"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def sweep(root: Path, key: str) -> None:
    """Removes what builders left who died: this kernel's lock is held, others' can be had."""
    for place in root.glob("*.building"):
        owner = place.name.partition(".")[0]
        with (root / f"{owner}.lock").open("a+") as lock:
            if owner == key or taken(lock):
                shutil.rmtree(place, ignore_errors=True)


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
