"""From a run's raw records to what it leaves, also when it failed half-way."""

import hashlib
from pathlib import Path

from contracts.plan import Plan
from reports import words
from reports.bottleneck import bottleneck
from reports.cells import GLOBAL, CellScores, write_cells
from reports.cells_figure import draw_cells
from reports.data_figure import draw_data, read_holdings
from reports.decisions import Decisions, decisions, draw_decisions
from reports.dissimilarity import report_dissimilarity
from reports.events import Event, read_events, write_events
from reports.fidelity import read_json, read_probes
from reports.figure import draw_accuracy
from reports.handovers import Handover, handovers, happened, write_handovers
from reports.local_training import local_training
from reports.map_figure import draw_map, draw_membership
from reports.membership import Hearing, write_membership
from reports.report import write_report
from reports.rounds import round_rows, write_rounds
from reports.run_records import RunRecords
from reports.summary import RunFacts, Summary, summarise
from reports.traffic import read_traffic

__all__ = ["RunFacts", "Summary", "finish"]


def finish(run_dir: Path, facts: RunFacts) -> Summary:
    """Sort events.jsonl; write rounds.csv, summary.json, the figures and report.html.

    Cells have cells.csv; what clients that moved did stands in handovers.csv and membership.csv;
    how far gradients were apart, where that was asked for, in dissimilarity.csv.
    """
    plan = _plan(run_dir / "plan.json")
    events = read_events(run_dir / "events.jsonl")
    write_events(run_dir / "events.jsonl", events)
    evaluations = run_dir / "evaluations.jsonl"
    cells = CellScores(plan.cells, evaluations) if plan and plan.cells else None
    alone = _alone(plan) if plan else ()
    rows = round_rows(events, evaluations, cells, alone or (GLOBAL,))
    write_rounds(run_dir / "rounds.csv", rows)
    traffic = read_traffic(run_dir / "links.csv", events, plan)
    probes = read_probes(run_dir / "probes.json")
    model = _hash(sorted(run_dir.glob("final*.model")))
    moves = handovers(events)
    timed = plan is not None and bool(plan.timeline or plan.walk)
    timeline = happened(events, moves) if timed else None
    training = local_training(events, plan) if plan else None
    held_up = bottleneck(events, plan)
    varying = read_json(run_dir / "varying.json")
    summary = summarise(
        facts, rows, events, traffic, probes, model, cells, timeline, training, held_up, varying
    )
    summary.write(run_dir / "summary.json")
    links = words.links(plan) if plan else ""
    whose = cells.whose if cells else "the clients' models (mean)" if alone else "the global model"
    draw_accuracy(run_dir / "accuracy.png", summary, rows, links, whose, events)
    if (held := read_holdings(run_dir / "data.csv")) is not None:
        draw_data(run_dir / "data.png", f"{summary.name}: who has samples of which class", held)
    if cells:
        write_cells(run_dir / "cells.csv", cells, {row.round: row.elapsed for row in rows})
        draw_cells(run_dir / "cells.png", summary, rows, cells, links)
    report_dissimilarity(run_dir, summary.name, {row.round: row.elapsed for row in rows})
    if plan:
        _report_moves(run_dir, summary, plan, events, moves)
    for top in plan.tops if plan else ():
        _draw_decisions(run_dir, summary, top, decisions(events, top))
    write_report(
        run_dir / "report.html", [RunRecords(run_dir, plan, events, rows, summary.fields())]
    )
    return summary


def _report_moves(
    run_dir: Path, summary: Summary, plan: Plan, events: list[Event], moves: list[Handover]
) -> None:
    """handovers.csv, membership.csv and the figures of clients that moved, as far as there are."""
    title = f"{summary.name}: {summary.protocol}, {summary.clock} clock"
    phases = {event.phase for event in events}
    hearing = Hearing(plan, moves)
    if "members" in phases:
        write_membership(run_dir / "membership.csv", events, hearing)
    if "leg" in phases:
        draw_map(run_dir / "map.png", title, plan, events, moves)
    if moves:
        write_handovers(run_dir / "handovers.csv", moves)
        draw_membership(run_dir / "membership.png", title, plan, events, hearing)


def _draw_decisions(run_dir: Path, summary: Summary, top: str, found: Decisions) -> None:
    """A figure for the cloud, or for each edge server where there is none."""
    is_cloud = top == "cloud"
    where = "the cloud" if is_cloud else top
    title = f"{summary.name} {summary.variant}: what {summary.protocol} decided at {where}"
    path = run_dir / ("decisions.png" if is_cloud else f"decisions-{top}.png")
    draw_decisions(path, title, found)


def _alone(plan: Plan) -> tuple[str, ...]:
    """The clients whose own models were evaluated, because nobody combines them."""
    tops = plan.tops
    return tops if len(tops) > 1 and plan.node(tops[0]).role == "client" else ()


def _plan(path: Path) -> Plan | None:
    return Plan.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def _hash(models: list[Path]) -> str | None:
    """Of the final model, or of all edge servers' together where there is no cloud."""
    if not models:
        return None
    return hashlib.sha256(b"".join(model.read_bytes() for model in models)).hexdigest()
