"""From a run's raw records to what it leaves, also when it failed half-way."""

import hashlib
from pathlib import Path

from reports import words
from reports.decisions import decisions, draw_decisions
from reports.events import read_events, write_events
from reports.fidelity import read_probes
from reports.figure import draw_accuracy
from reports.rounds import round_rows, write_rounds
from reports.summary import RunFacts, Summary, summarise
from reports.traffic import read_traffic
from scenarios.plan import Plan

__all__ = ["RunFacts", "Summary", "finish"]


def finish(run_dir: Path, facts: RunFacts) -> Summary:
    """Sort events.jsonl; write rounds.csv, summary.json, accuracy.png and decisions.png."""
    plan = _plan(run_dir / "plan.json")
    events = read_events(run_dir / "events.jsonl")
    write_events(run_dir / "events.jsonl", events)
    rows = round_rows(events, run_dir / "evaluations.jsonl")
    write_rounds(run_dir / "rounds.csv", rows)
    traffic = read_traffic(run_dir / "links.csv", events, plan)
    probes = read_probes(run_dir / "probes.json")
    summary = summarise(facts, rows, events, traffic, probes, _hash(run_dir / "final.model"))
    summary.write(run_dir / "summary.json")
    draw_accuracy(run_dir / "accuracy.png", summary, rows, words.links(plan) if plan else "")
    if plan:
        title = f"{summary.name} {summary.variant}: what {summary.protocol} decided at the cloud"
        draw_decisions(run_dir / "decisions.png", title, decisions(events, _top(plan)))
    return summary


def _top(plan: Plan) -> str:
    """The server that nobody is above."""
    return next(node.name for node in plan.nodes if node.parent is None)


def _plan(path: Path) -> Plan | None:
    return Plan.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def _hash(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
