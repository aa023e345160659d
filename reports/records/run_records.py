"""The one reader of a run's records, behind every table, figure, page and comparison.

A run that is still going on, failed or was killed is read by the same rules as one that ended well
(see `reports.records.record_files`); whatever it did not reach is empty or None.
"""

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any

from contracts.plan import Plan
from contracts.provenance import Provenance
from contracts.regular_files import read_json, read_regular
from contracts.run_directory import RunDirectory
from contracts.tables import CellRow, LinkRow
from reports.bottleneck.critical_path import Step, round_paths
from reports.bottleneck.overview import bottleneck
from reports.records.cells import CellScores, read_cells
from reports.records.evaluations import EvaluationLine, read_evaluations
from reports.records.events import Event, read_events
from reports.records.fidelity import Probes
from reports.records.handovers import CompletedHandover, completed_handovers
from reports.records.holdings import Holdings, read_holdings
from reports.records.provenance import recorded_provenance
from reports.records.record_files import UnreadableRecord, json_if_complete, whole_json
from reports.records.round_scores import scores_by_round, solo_clients
from reports.records.rounds import RoundRow, read_rounds, round_rows
from reports.records.traffic import (
    LinkTotals,
    Traffic,
    link_totals,
    read_links,
    shared_totals,
    traffic,
)
from scenarios import toml_trees


class RunRecords:
    """A run's records: each file is read when first needed, each number computed once."""

    def __init__(self, directory: Path, summary: dict[str, Any] | None = None) -> None:
        """Open a run's directory; `summary` replaces a summary.json that is yet to be written."""
        self.directory = directory
        self.files = RunDirectory(directory)
        if summary is not None:
            self.summary = summary

    @classmethod
    def read(cls, directory: Path) -> "RunRecords":
        """Open a run and read at once all that a page shows, so that errors surface here."""
        records = cls(directory)
        for name in (
            *("summary", "scenario_text", "data_dir", "events", "evaluations", "links"),
            *("probes", "varying", "holdings", "rounds", "bottleneck", "traffic", "handovers"),
        ):
            getattr(records, name)
        return records

    # The contents of the files.

    @cached_property
    def plan(self) -> Plan | None:
        """None if there is no plan; raises KeyError, TypeError or ValueError if it is broken."""
        path = self.files.plan
        return Plan.from_tree(read_json(path)) if path.exists() else None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json; empty before the run's end."""
        return whole_json(self.files.summary) or {}

    @cached_property
    def scenario_text(self) -> str:
        """The text of the resolved scenario; empty if there is none."""
        path = self.files.scenario
        return read_regular(path).decode("utf-8", "replace") if path.exists() else ""

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario as plain data."""
        try:
            return toml_trees.parse(self.scenario_text)
        except ValueError:
            raise UnreadableRecord(self.files.scenario, "is not valid TOML") from None

    @cached_property
    def data_dir(self) -> str | None:
        """Where the data set was taken from, if a place was named."""
        learning = json_if_complete(self.files.learning)
        place = learning.get("data_dir") if isinstance(learning, dict) else None
        return str(place) if place else None

    @cached_property
    def events(self) -> list[Event]:
        """In order of time."""
        return read_events(self.files.events)

    @cached_property
    def evaluations(self) -> list[EvaluationLine]:
        """Every readable line of evaluations.jsonl."""
        return read_evaluations(self.files.evaluations)

    @cached_property
    def links(self) -> list[LinkRow]:
        """What every link carried in every round, including round 0 and attachments."""
        return read_links(self.files.links)

    @cached_property
    def probes(self) -> Probes | None:
        """The links as measured before training; None until they have been measured."""
        found: Probes | None = json_if_complete(self.files.probes)
        return found

    @cached_property
    def varying(self) -> dict[str, Any]:
        """What traces and background traffic amounted to; empty if there were none."""
        return json_if_complete(self.files.varying) or {}

    @cached_property
    def holdings(self) -> Holdings | None:
        """How many samples of each class every client has; None if that was not recorded."""
        return read_holdings(self.files.holdings)

    @cached_property
    def written_rounds(self) -> list[RoundRow]:
        """rounds.csv: the same as `rounds` to six digits, without reading all events."""
        return read_rounds(self.files.rounds)

    @cached_property
    def written_cells(self) -> list[CellRow]:
        """cells.csv: the same as `cells` to six digits; raises OSError if it cannot be opened."""
        return read_cells(self.files.cells)

    # What is derived from them.

    @property
    def provenance(self) -> Provenance:
        """What made the run, as the summary says or, before the run's end, the plan."""
        if self.summary:
            return Provenance.of(self.summary)
        return recorded_provenance(self.files)

    @property
    def name(self) -> str:
        """The scenario's name, or the directory's if there is no summary."""
        return str(self.summary.get("name") or self.directory.name)

    @cached_property
    def cells(self) -> CellScores | None:
        """The models' scores in each cell; None unless the run is on cells."""
        plan = self.plan
        return CellScores(plan.cells, self.evaluations) if plan and plan.cells else None

    @cached_property
    def solo_clients(self) -> tuple[str, ...]:
        """The clients whose own models are evaluated because no server combines them."""
        return solo_clients(self.plan)

    @property
    def evaluated_models(self) -> str:
        """A phrase that says which models the run's accuracy refers to."""
        if self.cells:
            return self.cells.evaluated_models
        return "the clients' models (mean)" if self.solo_clients else "the global model"

    @cached_property
    def rounds(self) -> list[RoundRow]:
        """Scores and times of the initial model (round 0) and of every finished round."""
        return round_rows(self._round_paths, scores_by_round(self.plan, self.evaluations))

    @property
    def elapsed(self) -> float:
        """Seconds from the start of training to the end of the last finished round."""
        return self.rounds[-1].elapsed_seconds if self.rounds else 0.0

    @cached_property
    def critical_paths(self) -> dict[int, list[Step]]:
        """The critical path of every finished round, by round."""
        return {event.round: path for event, path in self._round_paths}

    @cached_property
    def bottleneck(self) -> dict[str, Any]:
        """The summary's bottleneck analysis, or the same computed now if there is none yet."""
        found: dict[str, Any] = self.summary.get("bottleneck") or {}
        return found or bottleneck(self.events, self.plan, self.critical_paths)

    @cached_property
    def traffic(self) -> Traffic:
        """The bytes of all finished rounds by tier and direction."""
        return traffic(self.links, self.events, self.plan)

    @cached_property
    def link_totals(self) -> dict[str, LinkTotals]:
        """The bytes and drops of all finished rounds by link."""
        return link_totals(self.links)

    @cached_property
    def shared_totals(self) -> dict[str, LinkTotals]:
        """The totals of servers' own cables and of trunks."""
        return shared_totals(self.links)

    @cached_property
    def handovers(self) -> list[CompletedHandover]:
        """Every completed handover and what it cost."""
        return completed_handovers(self.events)

    @property
    def final_model_hash(self) -> str | None:
        """SHA-256 of the final model, or of all final models together if there are several."""
        models = self.files.final_models
        if not models:
            return None
        return hashlib.sha256(b"".join(model.read_bytes() for model in models)).hexdigest()

    @cached_property
    def _round_paths(self) -> list[tuple[Event, list[Step]]]:
        return round_paths(self.events)
