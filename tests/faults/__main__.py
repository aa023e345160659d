"""`./metronome test --faults`: disturbs real runs, and prints how each of them ended."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from learning.remembering.store import place
from learning.user_cache import shared_except
from tests.faults.catalogue import drawn
from tests.faults.trial import LOST, MISSED, REFUSED, SURVIVED, Trial, Verdict

_COLUMNS = (SURVIVED, REFUSED, LOST, MISSED)


def main(arguments: list[str]) -> int:
    """Try so many disturbances; return 1 if any run was lost."""
    parser = argparse.ArgumentParser(prog="metronome test --faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the schedule (default: 1)")
    parser.add_argument("--count", type=int, default=56, help="how many disturbances (default: 56)")
    parser.add_argument("--only", default="", help="only those whose words contain this")
    options = parser.parse_args(arguments)
    cases = [case for case in drawn(options.seed, options.count) if options.only in str(case)]
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="metronome-trial-") as name:
        folder, made = Path(name), 0

        def cache() -> Path:
            nonlocal made
            made += 1
            return shared_except(place().name, folder / f"cache-{made}")

        trial = Trial(folder, cache, options.seed)
        for number, case in enumerate(cases, 1):
            began = time.monotonic()
            verdict = trial.attempt(case)
            verdicts.append(verdict)
            seconds = time.monotonic() - began
            print(f"{number:3}/{len(cases)} {verdict.how:15} {case} ({seconds:.0f} s)", flush=True)
            if verdict.words:
                print(f"    {verdict.words}", flush=True)
    print(f"\nseed {options.seed}, {len(cases)} disturbances\n\n{table(verdicts)}")
    return int(any(verdict.how == LOST for verdict in verdicts))


def table(verdicts: list[Verdict]) -> str:
    """Return a Markdown table: a row for each kind of disturbance, and the totals."""
    rows: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        kind = f"{verdict.case.what} of {verdict.case.target} ({verdict.case.backend})"
        rows.setdefault(kind, Counter())[verdict.how] += 1
    total = sum(rows.values(), Counter[str]())
    lines = [f"| disturbance | tried | {' | '.join(_COLUMNS)} |", f"|---|{'---|' * 5}"]
    for kind, counts in (*sorted(rows.items()), ("**all**", total)):
        cells = " | ".join(str(counts[column]) for column in _COLUMNS)
        lines.append(f"| {kind} | {counts.total()} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
