"""`metronome fidelity`: measures a matrix of rates and round trips, as in docs/fidelity.md."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from contracts import status
from contracts.errors import BadInput
from contracts.links import LinkSpec
from contracts.run_directory import RunDirectory
from netem.backends.guest import Guest
from netem.offload import MOST_FRAMES
from netem.spool import LockedSpool, clear_abandoned
from nodes import fidelity_matrix
from nodes.fidelity_matrix import MatrixCell
from runner.handing_back import claim
from runner.json_lines import tail
from scenarios import loader, planner
from scenarios.task_facts import TaskFacts

_PATIENCE_SECONDS = 4 * 3600.0  # it takes minutes; this is for a guest that hangs
_POLL_SECONDS = 0.2
_SCENARIO: dict[str, Any] = {
    "name": "fidelity",
    "task": {"dataset": "tiny", "model": "tiny-mlp"},
    "protocol": {"name": "fedavg", "rounds": 1},
    "links": {"client-cloud": {"rate": "10mbit", "delay": "10ms"}},
    "devices": {"client": "instant", "cloud": "instant"},
}
_SHARED = {"cloud": {"rate": "10mbit"}}
COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("rate", lambda c: f"{c['rate'] / 1e6:g} Mbit/s"),
    ("round trip", lambda c: f"{c['round_trip'] * 1e3:g} ms"),
    ("senders", lambda c: f"{c['senders']}{' sharing it' if c['shared'] else ''}"),
    ("message", lambda c: f"{c['size'] / 1e6:.2f} MB"),
    ("frames", lambda c: str(c["frames"])),
    ("expected", lambda c: f"{expected(c):.4f} s"),
    ("measured", lambda c: f"{c['seconds']:.4f} s"),
    ("error", lambda c: f"{error(c):+.2%}"),
    ("ping off by", lambda c: f"{(c['ping'] - c['ping_expected']) * 1e6:+.1f} us"),
    ("kind", lambda c: "long" if c["long"] else "slow start"),
)


def expected(cell: dict[str, Any]) -> float:
    """Return the seconds expected: frames at the link's rate, the delay, and TCP slow start."""
    return float(cell["ideal"] + cell["slow_start"])


def error(cell: dict[str, Any]) -> float:
    """Return the relative error of the measured time."""
    return float(cell["seconds"] / expected(cell) - 1)


def measure(
    cells: Sequence[MatrixCell],
    clock: str,
    report: Callable[[dict[str, Any]], None],
    offload: bool = True,
) -> list[dict[str, Any]]:
    """Measure these cells of the matrix in one guest; `report` is called after each.

    `offload`: a packet may stand for many frames where the link is fast, as in a run.

    Either all of them or none share the server's attachment: an attachment that is shaped at all
    takes a packet's time, however fast it is.
    """
    with tempfile.TemporaryDirectory(prefix="metronome-fidelity-") as folder:
        run_dir = Path(folder)
        senders = max(cell.senders for cell in cells)
        more = _SHARED if any(cell.shared for cell in cells) else {}
        scenario = loader.check(
            _SCENARIO
            | {"topology": {"kind": "star", "clients": senders}}
            | {"links": _SCENARIO["links"] | more}
        )
        model = {"weights": ("float32", (max(cell.size for cell in cells) // 4,))}
        facts = TaskFacts(samples=[1] * senders, flops_per_step=1, tensors=model)
        on_clock = scenario.model_copy(update={"clock": clock})
        plan = planner.plan(on_clock, facts, run="fidelity", trainer="pool")
        if offload and clock == "virtual":
            plan = replace(plan, links=tuple(map(_with_large_packets, plan.links)))
        RunDirectory(run_dir).plan.write_text(plan.to_json())
        (run_dir / "cells.json").write_text(json.dumps([asdict(cell) for cell in cells]))
        clear_abandoned()
        guest = Guest(clock, seed=1, module=fidelity_matrix.__name__)
        guest.prepare(plan, print)
        spool = LockedSpool("fidelity")
        process = None
        try:
            process = guest.start(run_dir, spool, run_dir / "guest.log", interactive=False)
            spool.remember_session(process.pid)
            lines = tail(spool.status)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                for record in map(status.parse, lines()):
                    if isinstance(record, status.CellMeasured):
                        report(record.cell)
                time.sleep(_POLL_SECONDS)
            if not (run_dir / fidelity_matrix.RESULTS).exists():
                raise RuntimeError((run_dir / "guest.log").read_text(errors="replace")[-2000:])
            found: list[dict[str, Any]] = json.loads(
                (run_dir / fidelity_matrix.RESULTS).read_text()
            )
            return found
        finally:
            if process is not None:
                guest.end(process)
            spool.remove()


def _with_large_packets(link: LinkSpec) -> LinkSpec:
    """Return the link with queues that count frames; how many a packet has, every cell says."""
    return replace(link, frames_up=MOST_FRAMES, frames_down=MOST_FRAMES)


def fidelity(clock: str, out: str | None, offload: bool = True) -> int:
    """Measure the whole matrix, print it, and write it as Markdown if `out` is given."""
    console = Console()
    started = time.monotonic()

    def report(cell: dict[str, Any]) -> None:
        console.print(
            f"{cell['rate'] / 1e6:6g} Mbit/s  {cell['round_trip'] * 1e3:5g} ms  "
            f"{cell['senders']} senders{' sharing it' if cell['shared'] else ''}: "
            f"{error(cell):+.2%}",
            highlight=False,
        )

    cells = measure(fidelity_matrix.CELLS, clock, report, offload)
    cells += measure(fidelity_matrix.SHARED_CELLS, clock, report, offload)
    table = Table(title=f"Fidelity matrix, {clock} clock", title_justify="left")
    for name, _ in COLUMNS:
        table.add_column(name, justify="right")
    for cell in cells:
        table.add_row(*(show(cell) for _, show in COLUMNS))
    console.print(table)
    emulated = sum(cell["seconds"] for cell in cells)
    console.print(f"{emulated:.0f} s of transfers measured in {time.monotonic() - started:.0f} s")
    if out:
        _write(Path(out), cells)
    return 0


def _write(path: Path, cells: list[dict[str, Any]]) -> None:
    rows = [[name for name, _ in COLUMNS], ["---:"] * len(COLUMNS)]
    rows += [[show(cell) for _, show in COLUMNS] for cell in cells]
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    claim(path)
    try:
        path.write_text(text)
    except OSError as problem:
        raise BadInput(f"--out {path}: cannot be written ({problem.strerror})") from None
