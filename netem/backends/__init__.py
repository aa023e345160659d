"""Where Mininet runs: on this kernel, or in an embedded guest. Same code inside."""

import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.plan import Plan
from contracts.spool import Spool
from netem import shaping
from netem.backends.guest import Guest
from netem.backends.native import Native
from netem.capabilities import Capabilities
from netem.guest.spinning import SpinWatch


class Backend(Protocol):
    """Starts the inside, with the directories it may write to."""

    name: str

    def prepare(self, plan: Plan, report: Callable[[str], None]) -> None:
        """Whatever takes long or can be refused, before anything is started."""
        ...

    def kernel_identity(self) -> str:
        """Which kernel the inside will run on, for the records; known once it is prepared."""
        ...

    def start(
        self, run_dir: Path, spool: Spool, log: Path, interactive: bool
    ) -> "subprocess.Popen[bytes]":
        """Start the inside as a process group of its own (in the foreground if interactive)."""
        ...

    def watch(self, inside: "subprocess.Popen[bytes]", spool: Spool, log: Path) -> SpinWatch | None:
        """A watch over processes that stop the inside's clock for ever, where they can."""
        ...

    def end(self, inside: "subprocess.Popen[bytes]") -> None:
        """End the inside, however far it is, and wait until it is gone."""
        ...


def choose(
    wanted: str, clock: str, links: Iterable[LinkSpec], can: Capabilities
) -> tuple[str, str]:
    """The backend a run would take, and why; BadInput when the wanted one cannot carry it."""
    lacks = native_lacks(list(links), can)
    if clock == "virtual":
        if wanted == "native":
            raise BadInput(
                "backend: the virtual clock exists only in the guest's kernel; "
                "use --backend guest, or --clock wall"
            )
        return "guest", "the virtual clock exists only in the guest's kernel"
    if wanted == "native":
        if lacks:
            raise BadInput(
                f"backend: native cannot carry this scenario: {lacks}; use --backend guest"
            )
        return "native", "asked for"
    if wanted == "guest":
        return "guest", "asked for"
    return ("guest", lacks) if lacks else ("native", "this kernel has all the scenario needs")


def native_lacks(links: list[LinkSpec], can: Capabilities) -> str:
    """What this kernel or user lacks for these links, in words; empty when nothing."""
    if os.geteuid() != 0:
        return "native runs need root"
    missing = [name for name in ("namespaces", "veth", "bridge") if not getattr(can, name)]
    shapes = [shape for link in links for shape in (link.up, link.down) if shape]
    if any(shape.rate for shape in shapes) and not can.htb:
        missing.append("HTB (links with a rate need it)")
    if any(map(shaping.needs_netem, shapes)) and not can.netem:
        missing.append("netem (links with latency, jitter or loss need it)")
    return f"this kernel lacks {', '.join(missing)}" if missing else ""


def make(name: str, clock: str, seed: int) -> Backend:
    """The backend of that name."""
    return Native() if name == "native" else Guest(clock, seed)
