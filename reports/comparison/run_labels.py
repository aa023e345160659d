"""Labels for runs that are shown together."""

from collections.abc import Sequence
from typing import Any

from reports.comparison.labels import distinct_labels, identity
from reports.records.record_files import UnreadableRecord
from reports.records.run_records import RunRecords


def run_labels(runs: Sequence[RunRecords]) -> list[str]:
    """Return the runs' names, with what differs or their directories where names are equal."""
    bases = [" ".join(filter(None, (run.name, run.summary.get("variant")))) for run in runs]
    names = distinct_labels(bases, [identity(_scenario(run)) for run in runs])
    return [
        f"{name} ({run.directory.name})" if names.count(name) > 1 else name
        for run, name in zip(runs, names, strict=True)
    ]


def _scenario(records: RunRecords) -> dict[str, Any]:
    try:
        return records.scenario
    except UnreadableRecord:
        return {}
