"""The guest backend: Mininet in an embedded User Mode Linux, started by an ordinary user.

The guest sees some of the host's files (netem/host_files.py) through an overlay whose changes stay
in its own memory; only the run directory and the spool are writable. Its memory is a file which
grows as it is used, in the first place that has room for it (netem/places.py). It has no name
there, so that it vanishes with the guest.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from contracts.plan import Plan
from contracts.project import ROOT
from contracts.spool import GUEST_NAME, Spool
from netem import host_files, places
from netem.backends import process
from netem.guest import guard, kernel, kernel_store, tracing
from netem.guest.kernel_build import STOCK_KERNEL
from netem.guest.spinning import SpinWatch
from netem.places import Place
from netem.spool import room_needed

_BASE_BYTES = 400 << 20
_NODE_BYTES = 10 << 20  # with less, a guest of many nodes only looks for free pages
# Where the nodes train themselves: torch's libraries, which they share, and what each has of its
# own (with CUDA's libraries 550 and 282 MB were measured, without them less); room to train in.
_LIBRARIES_BYTES = 700 << 20
_TORCH_BYTES = 400 << 20
# The model as received, as trained, as being sent, the kernel's copies in flight, and one that a
# parent keeps if its method needs all updates at once.
_MODELS_PER_NODE = 6
_MODELS_ENCRYPTED = 2  # besides: what is being encrypted or decrypted, and what that gave
# Debian 12's Mininet imports distutils, for which setuptools would put all of itself.
_PLAIN_DISTUTILS = "export SETUPTOOLS_USE_DISTUTILS=stdlib\n" if sys.version_info < (3, 12) else ""
_START_NANOSECONDS = 1_767_225_600 * 10**9  # the guest's date on the virtual clock: 2026-01-01


def memory_needed(plan: Plan) -> int:
    """Return how many bytes of guest memory this plan may use at most."""
    servers = sum(1 for node in plan.nodes if node.children)
    rounds = plan.rounds * plan.settings.get("edge_rounds", 1)
    drawn = plan.settings.get("clients_per_round", 0) * rounds * servers or len(plan.nodes)
    a_part = _MODELS_PER_NODE + (_MODELS_ENCRYPTED if plan.encryption else 0)
    models = a_part * min(len(plan.nodes), drawn + servers) + 4 * servers
    held = max(plan.model_bytes, plan.update_bytes)
    a_node = _NODE_BYTES + 2 * plan.supply_bytes
    torch = _LIBRARIES_BYTES + _TORCH_BYTES * len(plan.nodes) if plan.trainer == "inline" else 0
    return _BASE_BYTES + a_node * len(plan.nodes) + models * held + torch


def place_for(plan: Plan) -> Place:
    """Return where the guest's memory goes; BadInput if no place has room.

    The spool's needs are counted too, as it may go to the same place.
    """
    what = f"guest memory: a guest for {len(plan.nodes)} nodes may need"
    return places.choose(memory_needed(plan) + room_needed(plan), what)


class Guest:
    """The `guest` backend. It needs no root, and has both clocks.

    `module` is what runs in the guest: the launcher, or whatever a measurement puts in its place.
    It must have a `main(directories)`, called with the run directory and the spool.
    """

    name = "guest"

    def __init__(self, clock: str, seed: int, module: str = process.LAUNCHER_MODULE) -> None:
        self._clock, self._seed, self._module = clock, seed, module

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Find a place for its memory, and find or build a kernel to boot.

        The virtual clock needs the kernel that we build. That one is also safer and faster, so the
        wall clock takes it too if it was built before; otherwise it takes Debian's, and builds
        ours only where Debian's is missing.
        """
        tracing.check()
        self._place = place_for(plan)
        if not self._place.in_memory:
            report(f"guest memory: {places.describe(self._place)}; a long run may be slower")
        found: Path | str | None = kernel.cached()
        if found is None and self._clock == "wall":
            found = shutil.which(STOCK_KERNEL)
        self._kernel = str(found or kernel.ensure(report))
        self._memory = memory_needed(plan)

    def kernel_identity(self) -> str:
        """Return the identity of the kernel that `prepare` chose."""
        return kernel.identity(Path(self._kernel))

    def memory_at(self) -> Path | None:
        """Return the place that `prepare` chose."""
        return self._place.path

    def start(
        self,
        run_dir: Path,
        spool: Spool,
        log: Path,
        interactive: bool,
        readable: Sequence[Path] = (),
    ) -> "subprocess.Popen[bytes]":
        """Boot the guest, which then runs the launcher."""
        run_dir = run_dir.resolve()
        init = _write_init(self._module, run_dir, spool)
        command = [
            *(sys.executable, "-m", "netem.guest.guard"),
            self._kernel,
            f"mem={self._memory >> 20}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "devtmpfs.mount=0",
            f"init={init}",
            "con0=fd:0,fd:1" if interactive else "con0=null,fd:1",
            "con=null",
            "ssl=null",
            "quiet",
            f"uml_dir={spool.root}",
            f"umid={GUEST_NAME}",
        ]
        if self._clock == "virtual":
            seeds = [f"metronome.seed={self._seed}", f"sch_netem.seed={self._seed}"]
            start = f"time-travel-start={_START_NANOSECONDS}"
            command += ["time-travel=inf-cpu", start, *seeds]
        environment = {
            "TMPDIR": str(self._place.path),
            "METRONOME_RUNNER": str(os.getpid()),
            "METRONOME_SPOOL": str(spool.root),
            host_files.VARIABLE: host_files.lines(run_dir, spool, readable),
        }
        return process.start(command, log, interactive, environment)

    def watch(
        self, launcher: "subprocess.Popen[bytes]", spool: Spool, log: Path
    ) -> SpinWatch | None:
        """Return a watch for processes that stop the virtual clock; None on the wall clock."""
        if self._clock != "virtual":
            return None
        return SpinWatch(launcher.pid, spool.guest_console, log)

    def end(self, launcher: "subprocess.Popen[bytes]") -> None:
        """End the guest with all its processes; netem/guest/guard.py says how."""
        guard.end(launcher)


def _write_init(module: str, run_dir: Path, spool: Spool) -> Path:
    """Write the guest's first program: a script, because kernel parameters cannot hold spaces."""
    arguments = [
        sys.executable,
        "-m",
        "netem.guest.init",
        module,
        str(run_dir),
        str(spool.root),
    ]
    init = spool.guest_init
    init.write_text(
        "#!/bin/sh\n"
        f"cd {shlex.quote(str(ROOT))}\n"
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root OPENBLAS_NUM_THREADS=1\n"
        "export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0\n"
        f"export XDG_CACHE_HOME={shlex.quote(str(kernel_store.user_cache()))}\n"
        f"{_PLAIN_DISTUTILS}"
        # Memory given back to the guest's kernel has to be faulted in again: expensive in a guest.
        "export MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=10000000000\n"
        "export MALLOC_MMAP_THRESHOLD_=4194304\n"
        f"exec {shlex.join(arguments)}\n"
    )
    init.chmod(0o755)
    return init
