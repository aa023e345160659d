"""When a run ends before its last round, because its target accuracy was reached."""

import math

from contracts.spool import read_verdict
from nodes.compute import make_pauses
from nodes.node_process import NodeContext


class StopAtTarget:
    """Says whether the target was reached so many rounds ago that the run may end."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._reached: int | None = None  # the first round whose model reached it
        self._next = 0  # the first round whose model was not asked for yet

    def before(self, round: int) -> bool:
        """Return whether to end instead of beginning this round.

        The evaluator has had the model of the round before the last for a round. On the virtual
        clock its verdict is waited for while the clock stands still, so that a run always ends
        after the same round; on the wall clock nobody waits, and the run ends some rounds later
        where the evaluator is slow.
        """
        plan = self._context.plan
        if plan.stop_at is None:
            return False
        while self._reached is None and self._next <= round - 2:
            if plan.is_evaluated(self._next) and self._verdict(self._next):
                self._reached = self._next
            self._next += 1
        return self._reached is not None and round > self._reached + plan.further_rounds

    def _verdict(self, round: int) -> bool:
        """Return whether the evaluator has found that this round's model reached it."""
        context = self._context
        if context.plan.pause == "sleep":
            return context.spool.target_reached.exists()
        pauses = make_pauses(context.plan, context.spool, context.spec.name)(math.inf)
        while (verdict := read_verdict(context.spool, round)) is None:
            next(pauses)
        return verdict
