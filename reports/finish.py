"""Turn a run's raw records into its tables, summary, figures and page, even if it failed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from contracts.events import Phase
from contracts.storage import describe
from reports import wording
from reports.figures.accuracy import draw_accuracy
from reports.figures.cells import draw_cells
from reports.figures.data import draw_data
from reports.figures.decisions import decisions, draw_decisions
from reports.figures.dissimilarity import report_dissimilarity
from reports.figures.map import draw_map, draw_membership
from reports.page.html import write_report
from reports.records.cells import write_cells
from reports.records.events import write_events
from reports.records.handovers import write_handovers
from reports.records.membership import ServersInRange, write_membership
from reports.records.rounds import write_rounds
from reports.records.run_records import RunRecords
from reports.records.summary import RunFacts, Summary, summarise

__all__ = ["RunFacts", "Summary", "draw_holdings", "finish"]


def finish(run_dir: Path, facts: RunFacts) -> Summary:
    """Write everything a run leaves behind, and return its summary.

    This sorts events.jsonl and writes rounds.csv, summary.json, the figures and report.html. Runs
    on cells also get cells.csv, runs in which clients move get handovers.csv and membership.csv,
    and runs that measure gradients get dissimilarity.csv. Called by `cli.run` when a run ends, well
    or not. What cannot be written becomes the summary's failure, unless there is one already.
    """
    records = RunRecords(run_dir, summary={})
    files = records.files
    summary = summarise(facts, records)
    records.summary = summary.fields()
    writing = _Writing()
    if facts.failure is not None:  # perhaps there is no room for more than this
        writing.attempt(lambda: summary.write(files.summary))
    writing.attempt(lambda: write_events(files.events, records.events))
    writing.attempt(lambda: write_rounds(files.rounds, records.rounds))
    writing.attempt(lambda: _draw_and_tabulate(records, summary))
    writing.attempt(lambda: write_report(files.report, [records]))
    if facts.failure is None:
        # Last, because whoever finds it takes the run for finished.
        summary = dataclasses.replace(summary, failure=writing.trouble)
        writing.attempt(lambda: summary.write(files.summary))
        summary = dataclasses.replace(summary, failure=writing.trouble)
    return summary


class _Writing:
    """Steps of writing, and what was wrong with the first that failed."""

    def __init__(self) -> None:
        self.trouble: str | None = None

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step; one that fails does not keep the others from being taken."""
        try:
            step()
        except OSError as error:
            self.trouble = self.trouble or describe(error)


def _draw_and_tabulate(records: RunRecords, summary: Summary) -> None:
    """Write the figures, and the tables that only some runs have."""
    files, rows = records.files, records.rounds
    links = wording.links(records.plan) if records.plan else ""
    draw_accuracy(
        files.accuracy_figure, summary, rows, links, records.evaluated_models, records.events
    )
    if not files.data_figure.exists():
        draw_holdings(summary.name, records.directory)
    elapsed = {row.round: row.elapsed for row in rows}
    if records.cells:
        write_cells(files.cells, records.cells, elapsed)
        draw_cells(files.cells_figure, summary, rows, records.cells, links)
    report_dissimilarity(files, summary.name, records.evaluations, elapsed)
    _report_moves(records, summary)
    _draw_decisions(records, summary)


def draw_holdings(name: str, run_dir: Path) -> None:
    """Draw who has which samples, which is known before a run begins."""
    records = RunRecords(run_dir, summary={})
    if records.holdings is not None:
        title = f"{name}: who has samples of which class"
        draw_data(records.files.data_figure, title, records.holdings)


def _report_moves(records: RunRecords, summary: Summary) -> None:
    """Write handovers.csv and membership.csv and draw the figures of clients that moved."""
    plan, events, files = records.plan, records.events, records.files
    if plan is None:
        return
    title = f"{summary.name}: {summary.protocol}, {summary.clock} clock"
    phases = {event.phase for event in events}
    moves = records.handovers
    in_range = ServersInRange(plan, moves)
    if Phase.MEMBERS in phases:
        write_membership(files.membership, events, in_range)
    if Phase.LEG in phases:
        draw_map(files.map_figure, title, plan, events, moves)
    if moves:
        write_handovers(files.handovers, moves)
        draw_membership(files.membership_figure, title, plan, events, in_range)


def _draw_decisions(records: RunRecords, summary: Summary) -> None:
    """Draw one figure for the cloud, or one for each edge server if there is no cloud."""
    for top in records.plan.tops if records.plan else ():
        where = "the cloud" if top == "cloud" else top
        title = f"{summary.name} {summary.variant}: what {summary.protocol} decided at {where}"
        path = records.files.decisions_figure(top)
        draw_decisions(path, title, decisions(records.events, top))
