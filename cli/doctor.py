"""`metronome doctor`: shows what this machine can do and which backend a run would use."""

import os
import shutil

import psutil
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from contracts.links import LinkSpec
from netem import backends
from netem.backends.guest import SHARED_MEMORY
from netem.capabilities import probe
from netem.guest import kernel, sources
from netem.guest.kernel_build import STOCK_KERNEL
from scenarios import loader, wiring


def doctor() -> int:
    """Print the machine's capabilities, then the backend for either clock and the reason."""
    can = probe()
    table = Table(title="This machine", title_justify="left", show_header=False)
    table.add_row("kernel", f"{os.uname().sysname} {os.uname().release}")
    table.add_row("user", "root" if os.geteuid() == 0 else "not root")
    unknown = "not tried: that needs root" if os.geteuid() != 0 else can.not_tried or "no"
    for label, has in (
        ("network namespaces", can.namespaces),
        ("veth, bridge", can.veth and can.bridge),
        ("HTB (rates)", can.htb),
        ("netem (latency, loss)", can.netem),
        ("Open vSwitch", can.openvswitch),
    ):
        table.add_row(label, "yes" if has else unknown)
    guest = shutil.which(STOCK_KERNEL)
    table.add_row("guest kernel", guest or f"{STOCK_KERNEL} missing (package user-mode-linux)")
    table.add_row("virtual clock's kernel", kernel.describe())
    remarks = kernel.remarks() or [f"none in {sources.SOURCES}"]
    table.add_row("kernel sources", escape("\n".join(remarks)))
    table.add_row("cores", str(len(os.sched_getaffinity(0))))
    memory = psutil.virtual_memory()
    table.add_row("memory", f"{memory.available >> 20} of {memory.total >> 20} MB free")
    shared = shutil.disk_usage(SHARED_MEMORY)
    table.add_row(str(SHARED_MEMORY), f"{shared.free >> 20} of {shared.total >> 20} MB free")
    console = Console()
    console.print(table)
    scenario = loader.load("quickstart")
    links = [
        LinkSpec("host", "switch", tier, None, *wiring.shapes(link))
        for tier, link in scenario.links.items()
    ]
    for clock in ("virtual", "wall"):
        name, why = backends.choose("auto", clock, links, can)
        console.print(
            f"On the {clock} clock, quickstart would take the backend [bold]{name}[/bold]: {why}."
        )
    return 0
