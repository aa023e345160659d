"""`metronome doctor`: shows what this machine can do and which backend a run would use."""

import os
import shutil
from collections.abc import Iterator

import psutil
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from contracts.errors import BadInput
from contracts.links import LinkSpec
from netem import backends, places
from netem.backends import guest
from netem.capabilities import probe
from netem.guest import kernel, sources, tracing
from netem.guest.kernel_build import STOCK_KERNEL
from netem.spool import room_needed
from scenarios import link_shapes, loader, planner
from scenarios.schema import Scenario
from scenarios.task_facts import TaskFacts


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
    stock = shutil.which(STOCK_KERNEL)
    table.add_row("guest kernel", stock or f"{STOCK_KERNEL} missing (package user-mode-linux)")
    table.add_row("virtual clock's kernel", kernel.describe())
    remarks = kernel.remarks() or [f"none in {sources.SOURCES}"]
    table.add_row("kernel sources", escape("\n".join(remarks)))
    table.add_row("cores", str(len(os.sched_getaffinity(0))))
    memory = psutil.virtual_memory()
    table.add_row("memory", f"{memory.available >> 20} of {memory.total >> 20} MB free")
    scenario = loader.load("quickstart")
    refused = tracing.refusal()
    table.add_row("ptrace (the guest)", f"refused: {refused}" if refused else "yes")
    for label, place in _rooms(scenario):
        table.add_row(label, place)
    console = Console()
    console.print(table)
    links = [
        LinkSpec("host", "switch", tier, None, *link_shapes.shapes(link))
        for tier, link in scenario.links.items()
    ]
    for clock in ("virtual", "wall"):
        name, why = backends.choose("auto", clock, links, lambda: can)
        console.print(
            f"On the {clock} clock, quickstart would take the backend [bold]{name}[/bold]: {why}."
        )
    return 0


def _rooms(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield what needs room in a run of this scenario, and the place that it would go to."""
    # The size of the model is not known without torch, and small beside the rest.
    samples = [1] * scenario.topology.client_count
    facts = TaskFacts(samples=samples, flops_per_step=1, tensors={})
    plan = planner.plan(scenario, facts, run="doctor", trainer="pool")
    spool = room_needed(plan)
    for label, needed in (("guest memory", guest.memory_needed(plan) + spool), ("spool", spool)):
        try:
            yield label, places.describe(places.choose(needed, f"{scenario.name} may need"))
        except BadInput as error:
            yield label, str(error)
