"""What came out of a machine: the times of its commands, its runs, and one row of a table."""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from contracts.run_directory import RunDirectory

HEADER = (
    "| where | first `run` | of it set-up | second `run` | verdict | accuracy | elapsed "
    "| guest's kernel | torch | `test` |\n"
    "|---|---:|---:|---:|---|---:|---:|---|---|---|"
)
_SET_UP = re.compile(r"^metronome: set up in (\d+) s", re.MULTILINE)
_COUNTS = re.compile(r"^=+ .*\b(?:passed|failed|error).* in [\d.]+s.*=+$", re.MULTILINE)
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)")


@dataclass
class Step:
    """One command on the machine."""

    command: str
    code: int
    seconds: float


@dataclass
class Outcome:
    """All that a row is made of."""

    where: str
    steps: list[Step] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    set_up_seconds: int | None = None
    tests: str = "not run"

    def to_json(self) -> str:
        """Return everything, for keeping."""
        return json.dumps(asdict(self), indent=1)

    def row(self) -> str:
        """Return the row of the table in docs/machines.md."""
        runs = [step for step in self.steps if step.command.startswith("./metronome run")]
        first, second = (*(_ended(step) for step in runs), "–", "–")[:2]
        set_up = "–" if self.set_up_seconds is None else f"{self.set_up_seconds} s"
        cells = [self.where, first, set_up, second, *_figures(self.summary), self.tests]
        return f"| {' | '.join(cells)} |"


def set_up_seconds(log: str) -> int | None:
    """Return how long the set-up took, as ./metronome said; None if it had nothing to do."""
    found = _SET_UP.search(log)
    return int(found[1]) if found else None


def tests(log: str, code: int) -> str:
    """Return how the tests went: what pytest counted, over all of its steps."""
    counts: dict[str, int] = {}
    for line in _COUNTS.findall(log):
        for number, what in _COUNT.findall(line):
            what = "failed" if what.startswith("error") else what
            counts[what] = counts.get(what, 0) + int(number)
    counted = ", ".join(f"{counts[what]} {what}" for what in ("passed", "failed") if what in counts)
    return f"{'ok' if code == 0 else 'FAILED'}: {counted or 'none ran'}"


def last_summary(runs: Path) -> dict[str, Any]:
    """Return the summary of the last run in a folder; empty when there is none."""
    files = (RunDirectory(path).summary for path in runs.glob("*") if path.is_dir())
    found = sorted((file for file in files if file.exists()), key=lambda file: file.stat().st_mtime)
    summary: dict[str, Any] = json.loads(found[-1].read_text()) if found else {}
    return summary


def figures(summary: dict[str, Any]) -> str:
    """Return a run's verdict and what it rests on, in one line."""
    fidelity, overruns = summary["fidelity"], summary["overruns"]
    return (
        f"{fidelity['verdict']}, round trip {fidelity['round_trip_error_seconds'] * 1000:+.2f} ms, "
        f"rate {fidelity['rate_error']:+.2%}, {overruns['nodes']} overruns, "
        f"{summary['elapsed_seconds']:.2f} s elapsed, accuracy {summary['final_accuracy']:.1%}"
    )


def _ended(step: Step) -> str:
    return (
        f"{step.seconds:.0f} s"
        if step.code == 0
        else f"exit {step.code} after {step.seconds:.0f} s"
    )


def _figures(summary: dict[str, Any]) -> list[str]:
    if not summary:
        return ["–"] * 5
    provenance = summary["provenance"]
    return [
        str(summary["fidelity"]["verdict"]),
        f"{summary['final_accuracy']:.1%}".replace("%", " %"),
        f"{summary['elapsed_seconds']:.2f} s",
        str(provenance["kernel"]),
        str(provenance["torch"]),
    ]
