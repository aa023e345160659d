"""summary.json: a run in a few numbers."""

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.events import Phase
from contracts.plan import Plan
from contracts.provenance import Provenance
from contracts.trained import NOTHING, Counts
from reports.comparison.rise_time import rise_times
from reports.records.atomic_files import write_text_atomically
from reports.records.fidelity import judge
from reports.records.handovers import TimelineTotals, timeline_totals
from reports.records.local_training import ALL, local_training
from reports.records.overruns import Overruns, overruns
from reports.records.rounds import RoundRow
from reports.records.run_records import RunRecords


@dataclass(frozen=True)
class RunFacts:
    """What the runner knows about a run and its records do not say."""

    name: str
    protocol: str
    clock: str
    backend: str
    seed: int
    target_accuracy: float | None
    host_seconds: float
    lost: list[str]
    failure: str | None
    variant: str = ""
    host_startup_seconds: float | None = None
    host_training_seconds: float | None = None
    pool_seconds: float | None = None  # all workers together
    engine: str = "torch"  # the engine of plain local training
    trainings: Counts = NOTHING  # by the pool
    evaluations: Counts = NOTHING
    provenance: Provenance | None = None


@dataclass(frozen=True)
class Summary:
    """The keys of summary.json; None where the run left no basis for a value."""

    name: str
    variant: str
    protocol: str
    clock: str
    backend: str
    seed: int
    rounds: int
    elapsed_seconds: float | None
    final_accuracy: float | None
    best_accuracy: float | None
    accuracy_by_rho: dict[
        str, float
    ]  # for runs on cells; the other accuracies are at the first rho
    average_model_by_rho: dict[str, float]  # of the mean of all edges' models
    # Over the last rounds; reports/comparison/rise_time.py defines this and the next four.
    rolling_accuracy: float | None
    rise_rounds: int | None
    rise_seconds: float | None
    half_rounds: int | None
    half_seconds: float | None
    target_accuracy: float | None
    time_to_target_seconds: float | None
    rounds_to_target: int | None
    bytes_on_wire: int | None
    payload_bytes: int | None
    wire_overhead: float | None
    wire_overhead_by_tier: dict[str, dict[str, float | None]]
    background_bytes: int  # background traffic; not part of bytes_on_wire
    drops: int | None
    refused: dict[str, int]
    overruns: Overruns
    local_training_seconds: float | None  # mean of a client in a round
    local_training_seconds_by_device: dict[str, float]
    lost: list[str]
    bottleneck: dict[str, Any]  # see reports.bottleneck.overview
    fidelity: dict[str, Any]
    varying: dict[str, Any]  # what traces and background traffic amounted to
    final_model: str | None  # SHA-256 of the final model, or models
    host_seconds: float
    host_startup_seconds: float | None
    host_training_seconds: float | None
    pool_seconds: float | None
    trainings: Counts  # by the pool: done in this run, and remembered from earlier ones
    evaluations: Counts
    stopped_at_target: bool  # before the last round, because the target was reached
    engine: str
    provenance: Provenance | None  # what made the run
    failure: str | None
    timeline_totals: TimelineTotals | None = (
        None  # for runs with a timeline; its keys are added beside these
    )

    def fields(self) -> dict[str, Any]:
        """Return the summary as it is written to the file."""
        fields = dataclasses.asdict(self)
        fields |= fields.pop("timeline_totals") or {}
        return fields

    def write(self, path: Path) -> None:
        """Write summary.json."""
        write_text_atomically(path, json.dumps(self.fields(), indent=2) + "\n")


def summarise(facts: RunFacts, records: RunRecords) -> Summary:
    """Combine what the runner knows with what the run's records say."""
    plan, rows, events = records.plan, records.rounds, records.events
    traffic, cells = records.traffic, records.cells
    by_device = local_training(events, plan) if plan else {}
    timed = plan is not None and bool(plan.timeline or plan.walk or plan.availability)
    late = overruns(events)
    drops = traffic.drops if traffic.last_round > 0 else None
    evaluated = [row.accuracy for row in rows if row.accuracy is not None]
    reached = first_reaching(rows, facts.target_accuracy)
    counted = traffic.last_round > 0
    rounds = [row.round for row in rows]
    refused = Counter(
        str(event.fields.get("reason")) for event in events if event.phase == Phase.REFUSED
    )
    return Summary(
        name=facts.name,
        variant=facts.variant,
        protocol=facts.protocol,
        clock=facts.clock,
        backend=facts.backend,
        seed=facts.seed,
        rounds=max(0, len(rows) - 1),
        elapsed_seconds=rows[-1].elapsed_seconds if len(rows) > 1 else None,
        final_accuracy=evaluated[-1] if evaluated else None,
        best_accuracy=max(evaluated, default=None),
        accuracy_by_rho=cells.final(rounds, cells.of_run) if cells else {},
        average_model_by_rho=cells.final(rounds, cells.of_average) if cells else {},
        **dataclasses.asdict(rise_times((r.round, r.elapsed_seconds, r.accuracy) for r in rows)),
        target_accuracy=facts.target_accuracy,
        time_to_target_seconds=reached.elapsed_seconds if reached else None,
        rounds_to_target=reached.round if reached else None,
        bytes_on_wire=traffic.wire.total() if counted else None,
        payload_bytes=traffic.payload.total() if counted else None,
        wire_overhead=traffic.overhead,
        wire_overhead_by_tier=traffic.overhead_by_tier(),
        drops=drops,
        refused=dict(sorted(refused.items())),
        overruns=late,
        local_training_seconds=by_device.pop(ALL, None),
        local_training_seconds_by_device=by_device,
        lost=sorted(facts.lost),
        fidelity=judge(records.probes, late.share, drops, records.varying.get("traces", ())),
        final_model=records.final_model_hash,
        host_seconds=facts.host_seconds,
        host_startup_seconds=facts.host_startup_seconds,
        host_training_seconds=facts.host_training_seconds,
        pool_seconds=facts.pool_seconds,
        trainings=facts.trainings,
        evaluations=facts.evaluations,
        stopped_at_target=_stopped(facts, plan, max(0, len(rows) - 1)),
        engine=facts.engine,
        provenance=facts.provenance,
        failure=facts.failure,
        bottleneck=records.bottleneck,
        timeline_totals=timeline_totals(events, records.handovers) if timed else None,
        background_bytes=traffic.background.total(),
        varying=records.varying,
    )


def _stopped(facts: RunFacts, plan: Plan | None, rounds: int) -> bool:
    """Whether the run ended before its last round as it was told to, and not because it failed."""
    asked = plan is not None and plan.stop_at is not None and facts.failure is None
    return asked and plan is not None and rounds < plan.rounds


def first_reaching(rows: list[RoundRow], target: float | None) -> RoundRow | None:
    """Return the first row whose accuracy is at least the target."""
    if target is None:
        return None
    return next((row for row in rows if row.accuracy is not None and row.accuracy >= target), None)
