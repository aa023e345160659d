"""All that a run has left so far, read back once: also of a run that goes on, or was cut short."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from contracts.plan import Plan
from reports.attribution import paths
from reports.bottleneck import bottleneck
from reports.cells import CellScores
from reports.critical_path import Step
from reports.events import Event, read_events
from reports.fidelity import Probes, read_probes
from reports.rounds import RoundRow, round_rows


@dataclass(frozen=True)
class RunRecords:
    """What the report and the figures are made from."""

    directory: Path
    plan: Plan | None
    events: list[Event]
    rows: list[RoundRow]
    summary: dict[str, Any]

    @classmethod
    def read(cls, directory: Path) -> "RunRecords":
        plan_file, summary_file = directory / "plan.json", directory / "summary.json"
        plan = Plan.from_json(plan_file.read_text()) if plan_file.exists() else None
        events = read_events(directory / "events.jsonl")
        evaluations = directory / "evaluations.jsonl"
        cells = CellScores(plan.cells, evaluations) if plan and plan.cells else None
        rows = round_rows(events, evaluations, cells)
        summary = json.loads(summary_file.read_text()) if summary_file.exists() else {}
        return cls(directory, plan, events, rows, summary)

    @property
    def name(self) -> str:
        return str(self.summary.get("name") or self.directory.name)

    @property
    def elapsed(self) -> float:
        """Seconds to the end of the last finished round."""
        return self.rows[-1].elapsed_seconds if self.rows else 0.0

    @cached_property
    def paths(self) -> dict[int, list[Step]]:
        """The critical path of every finished round."""
        return paths(self.events)

    @cached_property
    def bottleneck(self) -> dict[str, Any]:
        """As the summary says; of a run before there was such a key, worked out now."""
        found: dict[str, Any] = self.summary.get("bottleneck") or {}
        return found or bottleneck(self.events, self.plan, self.paths)

    @cached_property
    def probes(self) -> Probes:
        """Empty as long as no link has been measured."""
        return read_probes(self.directory / "probes.json") or []

    def text(self, name: str) -> str:
        """A file of the run; empty when there is none."""
        path = self.directory / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
