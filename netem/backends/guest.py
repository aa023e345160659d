"""Mininet in an embedded User Mode Linux, started by an ordinary user.

The guest sees the host's files read-only under an overlay; only the run directory and the spool
are writable (guest_init). Its memory is a file in /dev/shm, allocated as it is used.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from contracts.errors import BadInput
from contracts.plan import Plan
from contracts.project import ROOT
from contracts.spool import GUEST_NAME, Spool
from netem.backends import process
from netem.guest import guard, kernel
from netem.guest.spinning import SpinWatch

STOCK_KERNEL = "linux.uml"
SHARED_MEMORY = Path("/dev/shm")
_BASE_BYTES = 400 << 20
_NODE_BYTES = 10 << 20  # short of it a guest of many nodes does nothing but look for free pages
# Received, trained, being sent, the kernel's own copies in flight, and one kept by a parent whose
# method needs all updates at once.
_MODELS_PER_NODE = 6
_START_NANOSECONDS = 1_767_225_600 * 10**9  # the guest's date on the virtual clock: 2026-01-01
# How many runs share this machine, when a sweep has started several: guests take memory by and by.
AT_ONCE = "METRONOME_RUNS_AT_ONCE"


def memory_needed(plan: Plan) -> int:
    """Bytes of guest memory that this plan may use."""
    servers = sum(1 for node in plan.nodes if node.children)
    rounds = plan.rounds * plan.settings.get("edge_rounds", 1)
    drawn = plan.settings.get("clients_per_round", 0) * rounds * servers or len(plan.nodes)
    models = _MODELS_PER_NODE * min(len(plan.nodes), drawn + servers) + 4 * servers
    held = max(plan.model_bytes, plan.update_bytes)
    a_node = _NODE_BYTES + 2 * plan.supply_bytes
    return _BASE_BYTES + a_node * len(plan.nodes) + models * held


def check_room(plan: Plan) -> None:
    """BadInput when /dev/shm cannot hold the guest's memory, or not that of all runs at once."""
    needed, room = memory_needed(plan), shutil.disk_usage(SHARED_MEMORY)
    free = min(room.free, room.total // int(os.environ.get(AT_ONCE, "1")))
    if needed > free:
        raise BadInput(
            f"{SHARED_MEMORY}: {free >> 20} MB free, but a guest for {len(plan.nodes)} nodes may "
            f"need {needed >> 20} MB; free some room there, use fewer clients, or a sweep's --jobs"
        )


class Guest:
    """The `guest` backend; needs no root."""

    name = "guest"

    def __init__(self, clock: str, seed: int, inside: str = process.LAUNCHER) -> None:
        self._clock, self._seed, self._inside = clock, seed, inside

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """See to it that there is room and a kernel to boot.

        Ours for the virtual clock; it is also safer and quicker, and is taken for the wall clock
        when it is there already. Debian's own otherwise, and ours where Debian's is missing.
        """
        check_room(plan)
        found: Path | str | None = kernel.cached()
        if found is None and self._clock == "wall":
            found = shutil.which(STOCK_KERNEL)
        self._kernel = str(found or kernel.ensure(report))
        self._memory = memory_needed(plan)

    def kernel_identity(self) -> str:
        """Of the one that `prepare` chose."""
        return kernel.identity(Path(self._kernel))

    def start(
        self, run_dir: Path, spool: Spool, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        """Boot the guest, in which the launcher then runs."""
        init = _write_init(self._inside, run_dir, spool)
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
            "TMPDIR": str(SHARED_MEMORY),
            "METRONOME_RUNNER": str(os.getpid()),
            "METRONOME_SPOOL": str(spool.root),
        }
        return process.start(command, log, interactive, environment)

    def watch(self, inside: "subprocess.Popen[bytes]", spool: Spool, log: Path) -> SpinWatch | None:
        """A watch over processes that stop the clock for ever; only the virtual one can stop."""
        if self._clock != "virtual":
            return None
        return SpinWatch(inside.pid, spool.guest_console, log)

    def end(self, inside: "subprocess.Popen[bytes]") -> None:
        """The guest ends whole: see netem.guest.guard."""
        guard.end(inside)


def _write_init(inside: str, run_dir: Path, spool: Spool) -> Path:
    """The guest's first program; a script, because kernel parameters cannot hold spaces."""
    arguments = [
        sys.executable,
        "-m",
        "netem.guest.init",
        inside,
        str(run_dir),
        str(spool.root),
    ]
    init = spool.guest_init
    init.write_text(
        "#!/bin/sh\n"
        f"cd {shlex.quote(str(ROOT))}\n"
        "export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root OPENBLAS_NUM_THREADS=1\n"
        "export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0\n"
        # Memory given back to the guest's kernel must be faulted in again, which is dear there.
        "export MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=10000000000\n"
        "export MALLOC_MMAP_THRESHOLD_=4194304\n"
        f"exec {shlex.join(arguments)}\n"
    )
    init.chmod(0o755)
    return init
