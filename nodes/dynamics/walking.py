"""Clients that walk: their legs are recorded, and crossing a cell's border is a handover."""

from collections.abc import Iterator
from functools import partial

from contracts.events import Details, Phase
from contracts.plan import Plan
from contracts.run_directory import client_name
from netem import mobility
from netem.mobility import CellChange, Leg
from nodes.dynamics.effects import Record
from nodes.dynamics.handovers import Handovers
from nodes.dynamics.schedule import Schedule


class Walking:
    """Follows the walk of all clients, one step of it at a time."""

    def __init__(
        self, plan: Plan, schedule: Schedule, handovers: Handovers, record: Record
    ) -> None:
        self._plan, self._schedule = plan, schedule
        self._handovers, self._record = handovers, record
        self._walk = _steps(plan)
        self._schedule_next()

    def _schedule_next(self) -> None:
        """Have the next step of the walk take effect when it is due."""
        step = next(self._walk, None)
        if isinstance(step, Leg):
            self._schedule.at(step.start, partial(self._record_leg, step))
        elif step is not None:
            self._schedule.at(step.at, partial(self._change_cells, step))

    def _record_leg(self, leg: Leg) -> None:
        ways: Details = {"from": list(leg.origin), "to": list(leg.target)}
        self._record(client_name(leg.client), Phase.LEG, leg.start, leg.end, **ways)
        self._schedule_next()

    def _change_cells(self, change: CellChange) -> None:
        """Hand over a client that walked into a cell or out of one, if it belongs elsewhere now.

        The client keeps the order of the cells that it belongs to; new ones come behind them.
        """
        assert self._plan.walk is not None and self._plan.cells is not None
        walk, client = self._plan.walk, client_name(change.client)
        cells = [self._plan.cells.edges[cell] for cell in change.heard]
        own = [cell for cell in self._handovers.destination(client) if cell in cells]
        cells = own + [cell for cell in cells if cell not in own]
        if not walk.hears_all:
            cells = cells[:1]
        if set(cells) != set(self._handovers.destination(client)):
            self._handovers.begin(change.at, client, tuple(cells), walk, change.position)
        self._schedule_next()


def _steps(plan: Plan) -> Iterator[Leg | CellChange]:
    """Return the steps of the plan's walk in order of time; none if nobody walks."""
    walk, cells = plan.walk, plan.cells
    if walk is None or cells is None:
        return iter(())
    centres = mobility.centres(len(cells.edges), walk.spacing)
    movement = (walk.radius, walk.speed, walk.dwell, walk.seed)
    return mobility.walk(walk.homes, centres, *movement)
