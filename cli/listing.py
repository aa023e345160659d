"""`metronome list` and `metronome profiles`: print what the libraries offer."""

from typing import Any

from rich.console import Console
from rich.table import Table

from contracts.plugins import KINDS, brought
from netem import profiles as known
from scenarios import loader, sweeps


def list_scenarios() -> int:
    """Print the scenarios, with their variants and sizes, and the sweeps."""
    table = _table("Scenarios (run NAME)")
    for name in loader.library():
        choices = loader.choices(name)
        lines = [loader.load(name).about]
        if choices.variants:
            lines.append(f"--variant {', '.join(choices.variants)}")
        if choices.sizes:
            lines.append(f"--size {', '.join(choices.sizes)}")
        table.add_row(name, "\n".join(lines))
    tables = _table("Sweeps (sweep NAME)")
    for name in sweeps.library():
        tables.add_row(name, sweeps.read(name).about)
    Console().print(table, tables, *_plugins())
    return 0


def _plugins() -> list[Table]:
    """Return a table of what plug-ins bring, if there are any."""
    table = _table("Plug-ins")
    for plugin in brought():
        lines = [f"{KINDS[kind]}: {', '.join(plugin.names(kind))}" for kind in KINDS]
        told = [line for line in lines if not line.endswith(": ")]
        table.add_row(plugin.name, "\n".join([*told, str(plugin.path)]))
    return [table] if table.rows else []


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("about")
    return table


def list_profiles() -> int:
    """Print every link and device profile with its numbers."""
    console = Console()
    links = Table(title="Links (--links TIER=NAME)", title_justify="left")
    for column in ("name", "down", "up", "delay", "jitter", "loss", "about"):
        links.add_column(column, no_wrap=column == "name")
    for name, link in known.links().items():
        rate = link.get("rate", "trace" if "trace" in link else "-")
        down, up = link.get("rate_down", rate), link.get("rate_up", rate)
        links.add_row(name, down, up, *_texts(link, "delay", "jitter", "loss", "about"))
    devices = Table(title="Devices (devices.ROLE in a scenario)", title_justify="left")
    for column in ("name", "FLOP/s", "per step", "memory/s", "about"):
        devices.add_column(column, no_wrap=column == "name")
    for name, device in known.devices().items():
        devices.add_row(name, *_texts(device, "speed", "overhead", "memory", "about"))
    console.print(links)
    console.print(devices)
    return 0


def _texts(entry: dict[str, Any], *keys: str) -> list[str]:
    return [str(entry.get(key, "-")) for key in keys]
