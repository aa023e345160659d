"""Clients that come and go, at the times that the plan gives or that are drawn."""

from functools import partial

from contracts.events import Phase
from contracts.plan import Plan
from netem import availability
from netem.availability import Change
from nodes.dynamics.coverage import Coverage
from nodes.dynamics.effects import Record
from nodes.dynamics.schedule import Schedule


class Presence:
    """Takes clients' links away and gives them back, one change at a time."""

    def __init__(self, plan: Plan, schedule: Schedule, coverage: Coverage, record: Record) -> None:
        self._schedule, self._coverage, self._record = schedule, coverage, record
        clients = [node.name for node in plan.nodes if node.role == "client"]
        there = plan.availability
        self._changes = iter(()) if there is None else availability.changes(there, clients)
        self._schedule_next()

    def _schedule_next(self) -> None:
        """Have the next change take effect when it is due."""
        change = next(self._changes, None)
        if change is not None:
            self._schedule.at(change.at, partial(self._happen, change))

    def _happen(self, change: Change) -> None:
        if change.there:
            self._coverage.come_back(change.client)
        else:
            self._coverage.leave(change.client)
        phase = Phase.BACK if change.there else Phase.AWAY
        self._record(change.client, phase, change.at, self._schedule.now())
        self._schedule_next()
