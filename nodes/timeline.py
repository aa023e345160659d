"""The timeline of a run: does what the plan says, at the time at which it is due.

The launcher owns it. The parts are in nodes/dynamics: a schedule, and what it does to links
(changes, outages, traces), to who hears whom (handovers, walks), to who is there at all, and to
processes (crashes).
"""

from functools import partial
from typing import Any

from contracts.plan import Plan
from contracts.timeline import (
    CrashEvent,
    HandoverEvent,
    LinkChangeEvent,
    OutageEvent,
    RestartEvent,
    TimelineEvent,
)
from netem.radio import Radio
from netem.varying_links import VaryingLinks
from nodes.dynamics.coverage import Coverage, links_down_at_first
from nodes.dynamics.crashes import Crashes
from nodes.dynamics.effects import Processes, Record
from nodes.dynamics.handovers import Handovers
from nodes.dynamics.link_changes import LinkChanges
from nodes.dynamics.presence import Presence
from nodes.dynamics.schedule import Schedule
from nodes.dynamics.walking import Walking


class Timeline:
    """All that happens to a run from outside; times are seconds from time zero."""

    def __init__(
        self, plan: Plan, links: dict[str, Any], processes: Processes, record: Record
    ) -> None:
        self._schedule = Schedule()
        radio = Radio(links, links_down_at_first(plan))
        self._coverage = Coverage(plan, radio, processes)
        self._crashes = Crashes(self._schedule, self._coverage, processes, record)
        self._handovers = Handovers(self._schedule, self._coverage, record)
        # Of things due at the same time, the plan's events come first, then walks, then who comes
        # and goes, then traces.
        for event in plan.timeline:
            self._schedule.at(event.at, partial(self._happen, event))
        Walking(plan, self._schedule, self._handovers, record)
        Presence(plan, self._schedule, self._coverage, record)
        self.varying = VaryingLinks(plan, links)
        self._link_changes = LinkChanges(links, radio, self.varying, self._schedule, record)

    def begin(self, zero: float) -> None:
        """Set time zero, on the clock that the processes read."""
        self._schedule.begin(zero)

    def seconds_left(self) -> float | None:
        """Return the seconds until the next event; None if there is none, or no time zero yet."""
        return self._schedule.seconds_left()

    def advance(self) -> None:
        """Do all that is due."""
        self._schedule.advance()

    def server_finished(self, server: str) -> None:
        """A server has finished: nobody joins it any more."""
        self._coverage.finished(server)

    def server_takes_joins(self, server: str) -> None:
        """A server takes joins, for the first time or again after a restart."""
        self._crashes.server_takes_joins(server)

    def _happen(self, event: TimelineEvent) -> None:
        match event:
            case HandoverEvent():
                self._handovers.begin(event.at, event.client, event.to, event)
            case LinkChangeEvent():
                self._link_changes.reshape(event)
            case OutageEvent():
                self._link_changes.cut(event)
            case CrashEvent():
                self._crashes.crash(event.at, event.node)
            case RestartEvent():
                self._crashes.restart(event.at, event.node)
