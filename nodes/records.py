"""The records that the launcher writes while a run goes on."""

import csv
import io
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from contracts import status
from contracts.events import EventFields
from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import Spool
from contracts.status import Status
from contracts.storage import about
from contracts.tables import (
    ATTACHMENT,
    BACKGROUND_COLUMNS,
    LINK_COLUMNS,
    LINK_COUNTERS,
    PROFILE_COLUMN,
    TRUNK,
    plain_cell,
)
from netem.counters import LinkCounters


def _append(path: Path, text: str) -> None:
    # Closing the file is what makes it visible outside the guest, without a costly fsync. Three
    # system calls: `open` does five more, and each switches the guest's kernel to us and back.
    with about(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            left = memoryview(text.encode())
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)


class Records:
    """events.jsonl and links.csv in the run directory, status.jsonl in the spool."""

    def __init__(self, plan: Plan, run_dir: Path, spool: Spool) -> None:
        self._plan = plan
        self._files = RunDirectory(run_dir)
        self._status = spool.status
        self._zero: float | None = None
        self._early: list[EventFields] = []
        self._before: dict[str, LinkCounters] = {}
        self._background_before: Counter[tuple[str, str]] = Counter()
        more = BACKGROUND_COLUMNS if plan.traffic else ()
        last = (PROFILE_COLUMN,) if plan.links_differ else ()
        self._write_rows([(*LINK_COLUMNS, *more, *last)])

    def write_status(self, record: Status) -> None:
        """Tell the runner outside how far the run has come."""
        status.append(self._status, record)

    def write_probes(self, figures: list[dict[str, Any]]) -> None:
        """Write what the links did when they were measured, before training."""
        self._files.probes.write_text(json.dumps(figures, indent=1))

    def set_time_zero(self, moment: float) -> None:
        """Set time zero, when the first round starts, and write the events that came before it."""
        self._zero = moment
        early, self._early = self._early, []
        self.add_events(early)

    def elapsed(self, moment: float) -> float:
        """Return the seconds from time zero to this moment; 0 before time zero is known."""
        return moment - (moment if self._zero is None else self._zero)

    def add_events(self, events: list[EventFields]) -> None:
        """Write events with times of the nodes' clock, as soon as time zero is known."""
        if self._zero is None:
            self._early += events
            return
        for event in events:
            event["start"] -= self._zero
            event["end"] -= self._zero
        self.write_events(events)

    def write_events(self, events: list[EventFields]) -> None:
        """Append events whose times are counted from time zero."""
        for event in events:
            event["start"], event["end"] = round(event["start"], 9), round(event["end"], 9)
        _append(self._files.events, "".join(json.dumps(event) + "\n" for event in events))

    def write_varying(self, **found: Any) -> None:
        """Write what became of the traces and of the traffic beside the training."""
        self._files.varying.write_text(json.dumps(found, indent=1))

    def write_links(
        self,
        round: int,
        counters: dict[str, LinkCounters],
        background: Counter[tuple[str, str]] | None = None,
    ) -> None:
        """Append what every link carried since the last call; `background` by link and way."""
        beside = background or Counter()
        rows = []
        for spec in self._plan.links_and_trunks:
            delta = counters[spec.name].since(self._before.get(spec.name, LinkCounters()))
            numbers = [getattr(delta, column) for column in LINK_COUNTERS]
            for way in ("up", "down") if self._plan.traffic else ():
                key = spec.name, way
                numbers.append(beside[key] - self._background_before[key])
            last = (plain_cell(self._plan.kind_of(spec)),) if self._plan.links_differ else ()
            tier = spec.tier or (TRUNK if spec.is_trunk else ATTACHMENT)
            rows.append((round, spec.name, tier, *numbers, *last))
        self._before, self._background_before = counters, beside
        self._write_rows(rows)

    def _write_rows(self, rows: list[tuple[Any, ...]]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        _append(self._files.links, text.getvalue())
