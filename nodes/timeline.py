"""Does what the plan says when it is due: to the links, to who hears whom, to processes."""

import heapq
import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from netem import mobility
from netem.mobility import Change, Leg
from netem.radio import Radio
from scenarios.plan import Plan, Shape


class Stage(Protocol):
    """What the timeline acts upon."""

    def say(self, node: str, word: str, **data: Any) -> None: ...
    def record(self, node: str, phase: str, start: float, end: float, **details: Any) -> None: ...
    def crash(self, node: str) -> None: ...
    def restart(self, node: str) -> None: ...


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
        self._absent: set[str] = set()  # crashed, or ended
        self._turn: dict[str, int] = {}  # by client, its last handover: an earlier one is over
        self._free_at: dict[str, float] = {}  # by client, until when its radio is busy
        for event in plan.timeline:
            self._at(event["at"], partial(self._happen, **event))
        self._walk = self._walking()
        self._walk_on()

    def begin(self, zero: float) -> None:
        """Time zero, on the clock that the processes read."""
        self._zero = zero

    def seconds_left(self) -> float | None:
        """Until the next event; None when there will be none, or time zero is not known yet."""
        if self._zero is None or not self._queue:
            return None
        return max(0.0, self._queue[0][0] - self._now())

    def advance(self) -> None:
        """Do all that is due."""
        while self._zero is not None and self._queue and self._queue[0][0] <= self._now():
            heapq.heappop(self._queue)[2]()

    def ended(self, server: str) -> None:
        """A server has finished: nobody is told to join it any more."""
        self._absent.add(server)

    def returned(self, server: str) -> None:
        """A server that was restarted takes joins again."""
        if server in self._absent:
            self._absent.discard(server)
            self._tell_all_that_hear(server)

    def _now(self) -> float:
        return time.monotonic() - (self._zero or 0.0)

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (moment, next(self._order), action))

    def _happen(self, event: str, **details: Any) -> None:
        happens: dict[str, Callable[..., None]] = {
            "handover": self._handover,
            "link": self._link_changes,
            "outage": self._outage,
            "crash": self._crash,
            "restart": self._restart,
        }
        happens[event](**details)

    def _link_changes(self, at: float, links: list[str], profile: Any, **shapes: Any) -> None:
        up, down = (Shape(**shapes[way]) for way in ("up", "down"))
        for name in links:
            self._links[name].change(up, down)
        self._stage.record(links[0], "link", at, self._now(), profile=profile, links=links)

    def _outage(self, at: float, until: float, links: list[str], what: str) -> None:
        self._radio.cut(links)
        self._stage.record(what, "outage", at, until, late=self._now() - at)
        self._at(until, partial(self._outage_over, until, links, what))

    def _outage_over(self, until: float, links: list[str], what: str) -> None:
        self._radio.restore(links)
        self._stage.record(what, "restored", until, self._now())

    def _crash(self, at: float, node: str) -> None:
        if node in self._absent:
            return
        self._absent.add(node)
        for server in self._hears.get(node, ()):
            self._say_left(node, server)
        self._stage.crash(node)
        self._stage.record(node, "crash", at, self._now())
        self._tell_all_that_hear(node)

    def _restart(self, at: float, node: str) -> None:
        self._stage.restart(node)
        self._stage.record(node, "restart", at, self._now())
        if node in self._hears:
            self._absent.discard(node)
            self._tell(node)

    def _handover(
        self,
        at: float,
        client: str,
        to: list[str],
        mode: str,
        interruption: float,
        hold: float,
        position: tuple[float, float] | None = None,
    ) -> None:
        """Break-before-make has no link for a while when no cell is heard before and after."""
        before = self._hears[client]
        gone = [cell for cell in before if cell not in to]
        new = [cell for cell in to if cell not in before]
        turn = self._turn[client] = self._turn.get(client, 0) + 1
        note: dict[str, Any] = {"from": list(before), "to": to, "mode": mode}
        if position is not None:
            note["position"] = [round(metres, 3) for metres in position]
        done = partial(self._made, at, client, turn, to, note)
        stays = len(gone) < len(before)
        if not before:
            self._at(max(at, self._free_at.get(client, at)), done)
        elif mode == "make-before-break" and gone and new:
            self._hear(client, (*to, *gone))
            self._at(at + hold, done)
        elif gone and new and not stays:
            self._hear(client, ())
            self._free_at[client] = at + interruption
            self._at(at + interruption, done)
        else:
            done()

    def _made(self, at: float, client: str, turn: int, to: list[str], note: Any) -> None:
        """The last step of a handover, unless another has begun since."""
        if self._turn[client] != turn:
            return
        silent = not self._hears[client]
        self._hear(client, tuple(to))
        moment = self._now()
        link_seconds = moment - at if silent else 0.0
        self._stage.record(client, "handover", at, moment, link_seconds=link_seconds, **note)

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
            self._stage.say(server, "left", client=client, since=next(self._moments))

    def _tell(self, client: str) -> None:
        if client not in self._absent:
            hears = [cell for cell in self._hears[client] if cell not in self._absent]
            self._stage.say(client, "cells", hears=hears, since=next(self._moments))

    def _tell_all_that_hear(self, server: str) -> None:
        for client, cells in self._hears.items():
            if server in cells:
                self._tell(client)

    def _walking(self) -> Iterator[Leg | Change]:
        walk, cells = self._plan.walk, self._plan.cells
        if walk is None or cells is None:
            return iter(())
        homes = [tuple(home) for home in walk["homes"]]
        centres = mobility.centres(len(cells["edges"]), walk["spacing"])
        movement = (walk["radius"], walk["speed"], walk["dwell"], walk["seed"])
        return mobility.walk(homes, centres, *movement)

    def _walk_on(self) -> None:
        """Have the next thing that a walking client does done when it is due."""
        event = next(self._walk, None)
        if isinstance(event, Leg):
            self._at(event.start, partial(self._leg, event))
        elif event is not None:
            self._at(event.at, partial(self._cross, event))

    def _leg(self, leg: Leg) -> None:
        ways = {"from": list(leg.origin), "to": list(leg.target)}
        self._stage.record(self._client(leg.client), "leg", leg.start, leg.end, **ways)
        self._walk_on()

    def _cross(self, change: Change) -> None:
        """Somebody walked into a cell, or out of one."""
        assert self._plan.walk is not None and self._plan.cells is not None
        walk, client = self._plan.walk, self._client(change.client)
        cells = [self._plan.cells["edges"][cell] for cell in change.heard]
        own = [cell for cell in self._hears[client] if cell in cells]
        cells = own + [cell for cell in cells if cell not in own]
        if not walk["hears_all"]:
            cells = cells[:1]
        if set(cells) != set(self._hears[client]):
            how = {key: walk[key] for key in ("mode", "interruption", "hold")}
            self._handover(change.at, client, cells, **how, position=change.position)
        self._walk_on()

    @staticmethod
    def _client(index: int) -> str:
        return f"client{index + 1}"
