"""Where a model goes that is to be evaluated: so many may wait in the spool, and no more.

The spool is memory, as a rule. On the virtual clock a node that finds the queue full waits for the
evaluator while the clock stands still. On the wall clock nobody waits; there the run's directory
takes what is too much.
"""

import math
from pathlib import Path

from contracts.plan import Plan
from contracts.run_directory import RunDirectory
from contracts.spool import ROUNDS_BEHIND, Spool
from nodes.compute import make_pauses


def model_file(plan: Plan, run_dir: Path, spool: Spool, node: str, name: str) -> Path:
    """Return the file for this model, once there is room for it."""
    path = spool.model_to_evaluate(name)
    if not _is_full(plan, spool):
        return path
    if plan.pause == "sleep":
        overflow = RunDirectory(run_dir).waiting_models
        overflow.mkdir(exist_ok=True)
        return overflow / path.name
    for _ in make_pauses(plan, spool, node)(math.inf):
        if not _is_full(plan, spool):
            break
    return path


def _is_full(plan: Plan, spool: Spool) -> bool:
    return len(spool.models_to_evaluate()) >= ROUNDS_BEHIND * len(plan.tops)
