"""When a global round is over, and what is recorded then."""

from collections.abc import Callable

from contracts import status
from contracts.events import EventFields, Phase
from contracts.plan import Plan
from nodes.records import Records


class GlobalRounds:
    """Collects the ends of rounds from all top nodes, and records a round once all have ended it.

    `on_time_zero` is called with the moment at which the first of them begins to train, and
    `count_links` with a round that is over, to record what the links carried in it.
    """

    def __init__(
        self,
        plan: Plan,
        records: Records,
        on_time_zero: Callable[[float], None],
        count_links: Callable[[int], None],
    ) -> None:
        self._plan, self._records = plan, records
        self._on_time_zero, self._count_links = on_time_zero, count_links
        self._ends: dict[int, dict[str, float]] = {}  # by round, the time at which each ended it
        self._start = 0.0
        self.current = 1  # the round under way

    def ended(self, name: str, round: int, end: float) -> None:
        """A top node has ended a round; round 0 ends when training begins."""
        ends = self._ends.setdefault(round, {})
        if name in ends:
            return  # a server that crashed just then has done the round again
        ends[name] = end
        if round == 0 and len(ends) == 1:
            self._start = end
            self._records.set_time_zero(end)
            self._on_time_zero(end)
        if len(ends) < len(self._plan.tops):
            return
        last, who = max((end, name) for name, end in ends.items())
        if round > 0:
            self._record(round, who, last)
        self.current = round + 1
        elapsed = self._records.elapsed(last)
        self._records.write_status(status.RoundEnded(round=round, elapsed=elapsed))

    def _record(self, round: int, who: str, end: float) -> None:
        """Record a whole round, under the name of the node that was last to end it."""
        event: EventFields = {
            "node": who,
            "phase": Phase.ROUND,
            "round": round,
            "start": self._start,
            "end": end,
        }
        self._records.add_events([event])
        self._count_links(round)
        self._start = end
