"""The data of the report page, as plain JSON types; the scripts in reports/page/ draw it.

A run that is still going on yields the same structure with what it has so far, so that an open page
can be redrawn with it.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from contracts.plugins import copies
from contracts.tables import PHASES
from reports.comparison.run_labels import run_labels
from reports.figures.decisions import DECISION_LABELS, decisions
from reports.page.network import network
from reports.page.timeline import timeline_rows
from reports.page.waterfall import waterfall
from reports.records.holdings import Holdings
from reports.records.run_records import RunRecords
from reports.wording import links

_HEADLINE = (
    "protocol",
    "variant",
    "clock",
    "backend",
    "seed",
    "target_accuracy",
    "time_to_target_seconds",
    "rounds_to_target",
    "stopped_at_target",
    "bytes_on_wire",
    "wire_overhead",
    "drops",
    "refused",
    "lost",
    "overruns",
    "failure",
    "host_seconds",
    "accuracy_by_rho",
)
_JUDGED = ("verdict", "reason", "rate_error", "round_trip_error_seconds", "overrun_share")
_MOST_BARS = 150_000  # in one page: about four megabytes


def page_data(runs: Sequence[RunRecords]) -> dict[str, Any]:
    """Return the data of all runs on one page."""
    most = _MOST_BARS // max(1, len(runs))
    return {
        "runs": [_run(run, name, most) for run, name in zip(runs, run_labels(runs), strict=True)]
    }


def _run(records: RunRecords, name: str, most_bars: int) -> dict[str, Any]:
    plan, summary, rows = records.plan, records.summary, records.rounds
    places = {node.name: place for place, node in enumerate(plan.nodes)} if plan else {}
    return {
        "label": name,
        "name": records.name,
        "directory": str(records.directory.resolve()),
        "headline": {key: summary.get(key) for key in _HEADLINE},
        "planned_rounds": plan.rounds if plan else None,
        "elapsed": records.elapsed,
        "links_in_words": links(plan) if plan else "",
        "curve": [[row.round, row.elapsed / 1e6, row.accuracy, row.loss] for row in rows],
        "spent": {
            "phases": PHASES,
            "rounds": [[row.round, *(row.spent[phase] for phase in PHASES)] for row in rows[1:]],
        },
        "bottleneck": records.bottleneck,
        "network": network(records, plan, places) if plan else None,
        "waterfall": waterfall(records, places, most_bars),
        "data": _data(records.holdings),
        "decisions": _decisions(records),
        "timeline": timeline_rows(records.events),
        "fidelity": _fidelity(records),
        "scenario": records.scenario_text,
        "command": _command(records),
        "provenance": asdict(records.provenance),
    }


def _data(held: Holdings | None) -> dict[str, Any] | None:
    """Return the samples of each class for every client, without classes that no client has."""
    if held is None:
        return None
    present = np.flatnonzero(held.counts.any(axis=0)).tolist()
    counts = held.counts[:, present].tolist()
    return {"clients": list(held.clients), "classes": [str(n) for n in present], "counts": counts}


def _decisions(records: RunRecords) -> list[dict[str, Any]]:
    tops = records.plan.tops if records.plan else ()
    return [
        {"server": top, "words": DECISION_LABELS.get(name, name), "children": children}
        for top in tops
        for name, children in decisions(records.events, top).items()
    ]


def _fidelity(records: RunRecords) -> dict[str, Any]:
    judged = records.summary.get("fidelity") or {}
    return {**{key: judged.get(key) for key in _JUDGED}, "links": records.probes or []}


def _command(records: RunRecords) -> str:
    """Return the command that repeats the run.

    The resolved scenario contains every choice except where the data set was found.
    """
    words = ["./metronome", "run", str(records.files.scenario.resolve())]
    data = ["--data", records.data_dir] if records.data_dir else []
    folder = records.files.plugins.resolve()
    for one in copies(folder):
        file = folder / one["name"] / one["entry"]
        words += ["--plugin", str(file) if file.is_file() else one["name"]]
    return shlex.join(words + data)
