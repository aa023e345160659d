"""Crashes and restarts of nodes, at the times that the plan gives."""

from contracts.events import Phase
from nodes.dynamics.coverage import Coverage
from nodes.dynamics.effects import Processes, Record
from nodes.dynamics.schedule import Schedule


class Crashes:
    """Ends processes and starts them again, and tells the other nodes through the coverage."""

    def __init__(
        self, schedule: Schedule, coverage: Coverage, processes: Processes, record: Record
    ) -> None:
        self._schedule, self._coverage = schedule, coverage
        self._processes, self._record = processes, record
        self._crashed: set[str] = set()

    def crash(self, at: float, node: str) -> None:
        """End a node's process, unless it is down already or its server has finished."""
        if node in self._crashed or self._coverage.is_finished(node):
            return
        self._crashed.add(node)
        self._coverage.lost(node)
        self._processes.crash(node)
        self._record(node, Phase.CRASH, at, self._schedule.now())
        self._coverage.tell_children_of(node)

    def restart(self, at: float, node: str) -> None:
        """Start a node that crashed; a server is back only once it takes joins.

        An edge is left as it is when the cloud has finished meanwhile: nobody would train with it.
        """
        over = not self._coverage.is_client(node) and self._coverage.is_over_for(node)
        if node not in self._crashed or over:
            return
        self._crashed.discard(node)
        self._processes.restart(node)
        self._record(node, Phase.RESTART, at, self._schedule.now())
        if self._coverage.is_client(node):
            self._coverage.client_back(node)

    def server_takes_joins(self, server: str) -> None:
        """Tell those below a server that was restarted that it is back."""
        coverage = self._coverage
        down = server in self._crashed or coverage.is_finished(server)
        if coverage.is_absent(server) and not down:
            coverage.server_back(server)
