"""Handovers: a client leaves the cells that it hears for others, in one or two steps."""

from dataclasses import dataclass
from functools import partial

from contracts.events import Details, Phase
from contracts.timeline import HandoverSettings
from nodes.dynamics.coverage import Coverage
from nodes.dynamics.effects import Record
from nodes.dynamics.schedule import Schedule


@dataclass
class OngoingHandover:
    """A handover that has begun and is not complete yet."""

    began_at: float
    before: tuple[str, ...]
    silent_from: float  # since when there is no link, if there is none
    complete_at: float
    to: tuple[str, ...] = ()
    mode: str = ""
    position: tuple[float, float] | None = None

    def details(self) -> Details:
        """What the record says of it."""
        details: Details = {"from": list(self.before), "to": list(self.to), "mode": self.mode}
        if self.position is not None:
            details["position"] = [round(metres, 3) for metres in self.position]
        return details


class Handovers:
    """Carries out handovers, and records each when it is complete."""

    def __init__(self, schedule: Schedule, coverage: Coverage, record: Record) -> None:
        self._schedule, self._coverage, self._record = schedule, coverage, record
        self._ongoing: dict[str, OngoingHandover] = {}
        self._destinations = coverage.all_clients()

    def destination(self, client: str) -> tuple[str, ...]:
        """Return the cells that a client hears once its handover, if there is one, is complete."""
        return self._destinations[client]

    def begin(
        self,
        at: float,
        client: str,
        to: tuple[str, ...],
        settings: HandoverSettings,
        position: tuple[float, float] | None = None,
    ) -> None:
        """Begin a handover to these cells, whose first is the client's own.

        With break-before-make the client has no link for a while, if it keeps none of its cells.
        A handover that begins before the last one is complete continues it: the two are one.
        """
        before = self._coverage.hears(client)
        gone = [cell for cell in before if cell not in to]
        new = [cell for cell in to if cell not in before]
        ongoing = OngoingHandover(at, before, silent_from=at, complete_at=at)
        ongoing = self._ongoing.get(client, ongoing)
        ongoing.to, ongoing.mode, ongoing.position = to, settings.mode, position
        self._ongoing[client], self._destinations[client] = ongoing, to
        if settings.mode == "make-before-break" and gone and new:
            self._coverage.connect(client, (*to, *gone))
            ongoing.complete_at = at + settings.hold
        elif before and len(gone) == len(before):
            self._coverage.connect(client, ())
            ongoing.silent_from, ongoing.complete_at = at, at + settings.interruption
        due = ongoing.complete_at
        if due > self._schedule.now():
            self._schedule.at(due, partial(self._complete, client, ongoing, due))
        else:
            self._complete(client, ongoing, due)

    def _complete(self, client: str, ongoing: OngoingHandover, due: float) -> None:
        """Do the last step of a handover, unless it has been put off or is done already."""
        if self._ongoing.get(client) is not ongoing or due != ongoing.complete_at:
            return
        del self._ongoing[client]
        silent = not self._coverage.hears(client)
        self._coverage.connect(client, ongoing.to)
        moment = self._schedule.now()
        link_seconds = moment - ongoing.silent_from if silent else 0.0
        details: Details = {"link_seconds": link_seconds, **ongoing.details()}
        self._record(client, Phase.HANDOVER, ongoing.began_at, moment, **details)
