"""Does what the plan says when it is due: to the links, to who hears whom, to processes."""

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Unpack

from contracts.control import Cells, Left, Word
from contracts.events import Details, Phase
from contracts.plan import Plan
from contracts.timeline import (
    CrashEvent,
    HandoverEvent,
    HandoverSettings,
    LinkChangeEvent,
    OutageEvent,
    RestartEvent,
    TimelineEvent,
)
from netem import mobility
from netem.mobility import Change, Leg
from netem.radio import Radio
from netem.varying_links import Varying

_LONGEST_WAIT = 3600.0  # seconds: what the kernel's timers hold has an end


class Stage(Protocol):
    """What the timeline acts upon."""

    def say(self, node: str, said: Word) -> None:
        """Tell a node something over its control line."""

    def record(
        self, node: str, phase: Phase, start: float, end: float, **details: Unpack[Details]
    ) -> None:
        """Write an event; times are seconds from time zero."""

    def crash(self, node: str) -> None:
        """End a node's process at once."""

    def restart(self, node: str) -> None:
        """Start a node that was ended."""


@dataclass
class Handover:
    """One that has begun and is not made yet."""

    at: float
    before: tuple[str, ...]
    silent_from: float  # since when there is no link, if there is none
    made_at: float
    to: tuple[str, ...] = ()
    mode: str = ""
    position: tuple[float, float] | None = None

    def note(self) -> Details:
        """What the record says of it."""
        note: Details = {"from": list(self.before), "to": list(self.to), "mode": self.mode}
        if self.position is not None:
            note["position"] = [round(metres, 3) for metres in self.position]
        return note


class Timeline:
    """Times are seconds from time zero; events are late by less than a timer's millisecond."""

    def __init__(self, plan: Plan, links: dict[str, Any], stage: Stage) -> None:
        self._plan, self._links, self._stage = plan, links, stage
        self._zero: float | None = None
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order, self._moments = itertools.count(), itertools.count(1)
        self._link = {
            (link.host, server.name): link.name
            for link in plan.links
            if (server := plan.server_across(link)) is not None
        }
        self._hears = {
            node.name: tuple(name for name, _ in node.servers)
            for node in plan.nodes
            if node.role == "client"
        }
        away = [self._link[node.name, name] for node in plan.nodes for name, _ in node.visits]
        self._radio = Radio(links, away)
        self._crashed: set[str] = set()
        self._over: set[str] = set()  # servers that have finished
        self._absent: set[str] = set()  # all that cannot be reached: crashed, over, not back yet
        self._wants = dict(self._hears)  # what each client will hear when its handover is made
        self._unfinished: dict[str, Handover] = {}
        for event in plan.timeline:
            self._at(event.at, partial(self._happen, event))
        self._walk = self._walking()
        self._walk_on()
        self.varying = Varying(plan, links)
        self._vary_on()

    def begin(self, zero: float) -> None:
        """Time zero, on the clock that the processes read."""
        self._zero = zero

    def seconds_left(self) -> float | None:
        """Until the next event; None when there will be none, or time zero is not known yet."""
        if self._zero is None or not self._queue:
            return None
        return min(max(0.0, self._queue[0][0] - self._now()), _LONGEST_WAIT)

    def advance(self) -> None:
        """Do all that is due."""
        while self._zero is not None and self._queue and self._queue[0][0] <= self._now():
            heapq.heappop(self._queue)[2]()

    def ended(self, server: str) -> None:
        """A server has finished: nobody joins it any more."""
        self._over.add(server)
        self._absent.add(server)
        self._tell_all_that_hear(server)

    def returned(self, server: str) -> None:
        """A server that was restarted takes joins again."""
        if server in self._absent - self._over - self._crashed:
            self._absent.discard(server)
            self._tell_all_that_hear(server)

    def _now(self) -> float:
        return time.monotonic() - (self._zero or 0.0)

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (moment, next(self._order), action))

    def _happen(self, event: TimelineEvent) -> None:
        match event:
            case HandoverEvent():
                self._handover(event.at, event.client, event.to, event)
            case LinkChangeEvent():
                self._link_changes(event)
            case OutageEvent():
                self._outage(event)
            case CrashEvent():
                self._crash(event.at, event.node)
            case RestartEvent():
                self._restart(event.at, event.node)

    def _link_changes(self, event: LinkChangeEvent) -> None:
        self.varying.leave(event.links)
        for name in event.links:
            self._links[name].change(event.up, event.down)
        details: Details = {"profile": event.profile, "links": list(event.links)}
        self._stage.record(event.links[0], Phase.LINK, event.at, self._now(), **details)

    def _outage(self, event: OutageEvent) -> None:
        self._radio.cut(event.links)
        late = self._now() - event.at
        self._stage.record(event.what, Phase.OUTAGE, event.at, event.until, late=late)
        self._at(event.until, partial(self._outage_over, event))

    def _outage_over(self, event: OutageEvent) -> None:
        self._radio.restore(event.links)
        self._stage.record(event.what, Phase.RESTORED, event.until, self._now())

    def _crash(self, at: float, node: str) -> None:
        if node in self._crashed | self._over:
            return
        self._crashed.add(node)
        self._absent.add(node)
        for server in self._hears.get(node, ()):
            self._say_left(node, server)
        self._stage.crash(node)
        self._stage.record(node, Phase.CRASH, at, self._now())
        self._tell_all_that_hear(node)

    def _restart(self, at: float, node: str) -> None:
        if node not in self._crashed:
            return
        self._crashed.discard(node)
        self._stage.restart(node)
        self._stage.record(node, Phase.RESTART, at, self._now())
        if node in self._hears:
            self._absent.discard(node)
            self._tell(node)

    def _handover(
        self,
        at: float,
        client: str,
        to: tuple[str, ...],
        how: HandoverSettings,
        position: tuple[float, float] | None = None,
    ) -> None:
        """Break-before-make has no link for a while when no cell is heard before and after.

        One that begins before the last is made goes on from there: the two are one.
        """
        before = self._hears[client]
        gone = [cell for cell in before if cell not in to]
        new = [cell for cell in to if cell not in before]
        made = Handover(at, before, silent_from=at, made_at=at)
        made = self._unfinished.get(client, made)
        made.to, made.mode, made.position = to, how.mode, position
        self._unfinished[client], self._wants[client] = made, to
        if how.mode == "make-before-break" and gone and new:
            self._hear(client, (*to, *gone))
            made.made_at = at + how.hold
        elif before and len(gone) == len(before):
            self._hear(client, ())
            made.silent_from, made.made_at = at, at + how.interruption
        if made.made_at > self._now():
            self._at(made.made_at, partial(self._made, client, made, made.made_at))
        else:
            self._made(client, made, made.made_at)

    def _made(self, client: str, made: "Handover", due: float) -> None:
        """The last step of a handover, unless it has been put off or is done."""
        if self._unfinished.get(client) is not made or due != made.made_at:
            return
        del self._unfinished[client]
        silent = not self._hears[client]
        self._hear(client, made.to)
        moment = self._now()
        link_seconds = moment - made.silent_from if silent else 0.0
        details: Details = {"link_seconds": link_seconds, **made.note()}
        self._stage.record(client, Phase.HANDOVER, made.at, moment, **details)

    def _hear(self, client: str, cells: tuple[str, ...]) -> None:
        """From now on this client hears these cells: their links, then word to all concerned."""
        before, self._hears[client] = self._hears[client], cells
        for cell in cells:
            self._radio.attach(self._link[client, cell])
        for cell in before:
            if cell not in cells:
                self._radio.detach(self._link[client, cell])
                self._say_left(client, cell)
        self._tell(client)

    def _say_left(self, client: str, server: str) -> None:
        if server not in self._absent:
            self._stage.say(server, Left(client, next(self._moments)))

    def _tell(self, client: str) -> None:
        if client not in self._absent:
            hears = [cell for cell in self._hears[client] if cell not in self._absent]
            since, over = next(self._moments), sorted(self._over)
            self._stage.say(client, Cells(hears, over, since))

    def _tell_all_that_hear(self, server: str) -> None:
        for client, cells in self._hears.items():
            if server in cells:
                self._tell(client)

    def _vary_on(self) -> None:
        """Have the next rows of traces take effect when they are due."""
        if self.varying.due is not None:
            self._at(self.varying.due, self._vary)

    def _vary(self) -> None:
        self.varying.advance(self._now())
        self._vary_on()

    def _walking(self) -> Iterator[Leg | Change]:
        walk, cells = self._plan.walk, self._plan.cells
        if walk is None or cells is None:
            return iter(())
        centres = mobility.centres(len(cells.edges), walk.spacing)
        movement = (walk.radius, walk.speed, walk.dwell, walk.seed)
        return mobility.walk(walk.homes, centres, *movement)

    def _walk_on(self) -> None:
        """Have the next thing that a walking client does done when it is due."""
        event = next(self._walk, None)
        if isinstance(event, Leg):
            self._at(event.start, partial(self._leg, event))
        elif event is not None:
            self._at(event.at, partial(self._cross, event))

    def _leg(self, leg: Leg) -> None:
        ways: Details = {"from": list(leg.origin), "to": list(leg.target)}
        self._stage.record(self._client(leg.client), Phase.LEG, leg.start, leg.end, **ways)
        self._walk_on()

    def _cross(self, change: Change) -> None:
        """Somebody walked into a cell, or out of one."""
        assert self._plan.walk is not None and self._plan.cells is not None
        walk, client = self._plan.walk, self._client(change.client)
        cells = [self._plan.cells.edges[cell] for cell in change.heard]
        own = [cell for cell in self._wants[client] if cell in cells]
        cells = own + [cell for cell in cells if cell not in own]
        if not walk.hears_all:
            cells = cells[:1]
        if set(cells) != set(self._wants[client]):
            self._handover(change.at, client, tuple(cells), walk, change.position)
        self._walk_on()

    @staticmethod
    def _client(index: int) -> str:
        return f"client{index + 1}"
