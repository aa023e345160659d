"""`metronome run`: loads a scenario, prepares and executes it, and finishes its records."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from cli.display import RunDisplay
from cli.live import LiveView
from contracts import progress
from contracts.errors import BadInput
from contracts.plan import Plan
from learning.remembering import ledger
from netem import backends
from netem.backends.guest import memory_needed
from netem.capabilities import probe
from netem.spool import clear_abandoned
from reports.records.summary import RunFacts
from reports.result_table import result_table
from runner import provenance
from runner.execution import RunFailed, Runner
from runner.preparation import PreparedRun, output_directory, prepare, worker_count
from runner.run_lock import busy
from runner.workers_that_fit import workers_that_fit
from scenarios import loader, shared_load
from scenarios.schema import Scenario
from scenarios.suggestions import did_you_mean


def run(
    name_or_file: str,
    changes: Sequence[str],
    links: Sequence[str],
    overrides: Mapping[str, Any],
    data_dir: Path | None,
    out: str | None,
    interactive: bool,
    variant: str | None = None,
    size: str | None = None,
    live: int | None = None,
    captures: Sequence[str] = (),
) -> int:
    """Run one scenario and print its results; return 0, or 1 if the run failed."""
    scenario = loader.load(name_or_file, changes, links, overrides, variant, size)
    run_dir = output_directory(scenario, out)
    try:
        return execute(scenario, data_dir, run_dir, interactive, live, captures=captures)
    finally:
        if out is None:
            with contextlib.suppress(OSError):  # of a run that was refused nothing is left
                run_dir.rmdir()


def execute(
    scenario: Scenario,
    data_dir: Path | None,
    run_dir: Path,
    interactive: bool = False,
    live: int | None = None,
    clear: Callable[[Path], None] | None = None,
    captures: Sequence[str] = (),
) -> int:
    """Run a scenario in this directory and print its results.

    Where something is there already, `clear` makes room once it is certain that the run can begin,
    and the caller has locked the directory.
    """
    began = time.monotonic()
    console = Console()
    progress_file = progress.asked_for(os.environ)
    view = LiveView(live)
    for name in clear_abandoned():
        console.print(f"cleared away what a killed run had left: {name}")
    prepared = prepare(scenario, data_dir, run_dir)
    _check_captures(captures, prepared.plan)
    for sentence in shared_load.warnings(prepared.plan):
        console.print(f"[yellow]warning:[/yellow] {escape(sentence)}", soft_wrap=True)
    chosen, why = backends.choose(scenario.backend, scenario.clock, prepared.plan.links, probe)
    backend = backends.create(chosen, scenario.clock, scenario.seed)
    backend.prepare(prepared.plan, console.print)
    workers = _workers(prepared, chosen, console)
    made_by = provenance.collect(prepared.engine, backend.kernel_identity())
    prepared = prepared.with_provenance(made_by)
    if clear is not None:
        clear(run_dir)
    prepared.write()
    console.print(f"{scenario.name}: {len(prepared.plan.nodes)} nodes, backend {chosen} ({why})")
    failure: str | None = None
    lock = contextlib.nullcontext() if clear is not None else busy(run_dir)
    with lock, view.showing([prepared.run_dir], console.print):
        with RunDisplay(prepared.plan, console, progress_file) as display:
            runner = Runner(prepared, backend, display, workers)
            drawing = threading.Thread(target=_draw_early, args=(scenario.name, run_dir))
            if scenario.clock == "virtual":  # on the wall clock the network needs the processors
                drawing.start()
            try:
                runner.run(interactive, captures)
            except RunFailed as error:
                failure = str(error)
            except KeyboardInterrupt:
                failure = "interrupted"
            if drawing.ident is not None:
                drawing.join()
        from reports.finish import finish

        found = runner.records or prepared.run_dir
        summary = finish(
            found,
            RunFacts(
                name=scenario.name,
                variant=scenario.variant,
                protocol=scenario.protocol.name,
                clock=scenario.clock,
                backend=chosen,
                seed=scenario.seed,
                target_accuracy=scenario.task.target_accuracy,
                host_seconds=time.monotonic() - began,
                host_startup_seconds=runner.host.startup,
                host_training_seconds=runner.host.training,
                pool_seconds=runner.host.pool,
                trainings=runner.trainings,
                evaluations=runner.evaluations,
                engine=prepared.engine,
                lost=runner.lost,
                failure=failure,
                provenance=made_by,
            ),
        )
    if scenario.compute.remember:
        with contextlib.suppress(OSError):  # it only adds to a total
            ledger.add(runner.trainings, runner.evaluations)
    failure = summary.failure
    console.print(result_table(summary))
    if runner.records is not None:
        console.print(f"records: {escape(str(found))}", soft_wrap=True)
    if runner.records is not None and failure is not None and scenario.clock == "virtual":
        console.print(f"to go on: ./metronome resume {escape(str(found))}", soft_wrap=True)
    if failure == "interrupted":
        raise KeyboardInterrupt
    if failure:
        console.print(f"[bold red]the run failed:[/bold red] {escape(failure)}", soft_wrap=True)
        return 1
    return 0


def _draw_early(name: str, run_dir: Path) -> None:
    """Load what draws figures and draw what is known already, while the network is busy."""
    from reports.finish import draw_holdings

    with contextlib.suppress(OSError):  # `finish` draws what is missing, and says why it cannot
        draw_holdings(name, run_dir)


def _check_captures(captures: Sequence[str], plan: Plan) -> None:
    """Refuse to capture a link that is not there."""
    known = [link.name for link in plan.links_and_trunks]
    for name in captures:
        if name not in known:
            raise BadInput(f"--pcap {name}: there is no such link; {did_you_mean(name, known)}")


def _workers(prepared: PreparedRun, backend: str, console: Console) -> int:
    """Return how many workers the run gets; say so where memory is short for all of them."""
    wanted = 0
    if prepared.plan.trainer == "pool":  # a node has one training at a time
        wanted = min(worker_count(prepared.scenario), len(prepared.plan.nodes))
    guest_bytes = memory_needed(prepared.plan) if backend == "guest" else 0
    workers = workers_that_fit(wanted, guest_bytes, prepared.worker_bytes)
    if workers < wanted:
        console.print(f"memory: there is room for {workers} of {wanted} workers")
    return workers
