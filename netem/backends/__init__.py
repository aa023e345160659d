"""Where Mininet runs: on this kernel (`native`) or in an embedded one (`guest`).

A backend starts the launcher process (`nodes.launcher`), which builds the network and starts the
nodes. The launcher is the same program on both.
"""

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.plan import Plan
from contracts.spool import Spool
from netem import shaping
from netem.backends.guest import Guest
from netem.backends.native import Native
from netem.capabilities import Capabilities, congestion_is_there
from netem.guest.spinning import SpinWatch


class Backend(Protocol):
    """Starts the launcher process, watches over it and ends it; the runner calls these in order."""

    name: str

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Do whatever takes long or can be refused, before anything is started."""
        ...

    def kernel_identity(self) -> str:
        """Return the kernel that the network will run on, for the records; call `prepare` first."""
        ...

    def memory_at(self) -> Path | None:
        """Return the directory that the guest's memory is in; None without a guest."""
        ...

    def start(
        self,
        run_dir: Path,
        spool: Spool,
        log: Path,
        interactive: bool,
        readable: Sequence[Path] = (),
    ) -> "subprocess.Popen[bytes]":
        """Start the launcher in a session of its own (in our terminal if interactive).

        What it starts can write to the run directory and the spool only. Of the machine's files it
        sees what netem/host_files.py lists, and what is `readable` besides. The process returned is
        the one to wait for and to give to `watch` and `end`; with a guest it is the guest's guard.
        """
        ...

    def watch(
        self, launcher: "subprocess.Popen[bytes]", spool: Spool, log: Path
    ) -> SpinWatch | None:
        """Return a watch for processes that stop the network's clock; None where none can."""
        ...

    def end(self, launcher: "subprocess.Popen[bytes]") -> None:
        """End the launcher and everything it started, and wait until they are gone."""
        ...


def choose(
    wanted: str, clock: str, links: Iterable[LinkSpec], probe: Callable[[], Capabilities]
) -> tuple[str, str]:
    """Return the backend that a run takes, and the reason; BadInput when it cannot be `wanted`.

    `probe` tries what this kernel can do, and is called only where that matters.
    """
    if clock == "virtual":
        if wanted == "native":
            raise BadInput(
                "backend: the virtual clock exists only in the guest's kernel; "
                "use --backend guest, or --clock wall"
            )
        return "guest", "the virtual clock exists only in the guest's kernel"
    if wanted == "guest":
        return "guest", "asked for"
    lacks = missing_for_native(list(links), probe())
    if wanted == "native":
        if lacks:
            raise BadInput(
                f"backend: native cannot carry this scenario: {lacks}; use --backend guest"
            )
        return "native", "asked for"
    return ("guest", lacks) if lacks else ("native", "this kernel has all the scenario needs")


def missing_for_native(links: list[LinkSpec], capabilities: Capabilities) -> str:
    """Say what this kernel or user lacks to run these links natively; empty when nothing."""
    if os.geteuid() != 0:
        return "native runs need root"
    if capabilities.not_tried:
        return f"what this kernel has {capabilities.not_tried}"
    needed = ("namespaces", "veth", "bridge")
    missing = [name for name in needed if not getattr(capabilities, name)]
    shapes = [shape for link in links for shape in (link.up, link.down) if shape]
    if any(shape.rate for shape in shapes) and not capabilities.htb:
        missing.append("HTB (links with a rate need it)")
    if any(map(shaping.needs_netem, shapes)) and not capabilities.netem:
        missing.append("netem (links with latency, jitter or loss need it)")
    if any(shape.queueing == "fq_codel" for shape in shapes) and not capabilities.fq_codel:
        missing.append("fq_codel (links with that queueing need it)")
    wanted = sorted({link.congestion for link in links if link.congestion})
    missing += [f"congestion control {name}" for name in wanted if not congestion_is_there(name)]
    return f"this kernel lacks {', '.join(missing)}" if missing else ""


def create(name: str, clock: str, seed: int) -> Backend:
    """Create the backend of this name; `clock` and `seed` matter to the guest only."""
    return Native() if name == "native" else Guest(clock, seed)
