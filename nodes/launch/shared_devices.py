"""The launcher's account of devices that several nodes share, each an equal part at any moment."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from contracts.control import Due, Occupy, Vacate, Word
from contracts.plan import Plan


@dataclass
class _Users:
    """Who computes on one device: job and seconds of it that are left, if he were alone."""

    jobs: dict[str, int] = field(default_factory=dict)
    left: dict[str, float] = field(default_factory=dict)
    since: float = 0.0  # `left` is as of this moment

    def advance(self, moment: float) -> None:
        """Take off what was computed since the last change."""
        if self.left:
            done = (moment - self.since) / len(self.left)
            self.left = {node: max(0.0, left - done) for node, left in self.left.items()}
        self.since = moment

    def dues(self) -> dict[str, float]:
        """When each would be done if nobody came or went any more before."""
        return {node: self.since + left * len(self.left) for node, left in self.left.items()}


class SharedDevices:
    """Tells everybody on a shared device when his training ends; `say` takes a node and a word."""

    def __init__(self, plan: Plan, say: Callable[[str, Word], None]) -> None:
        self._device = {node.name: node.shared_device for node in plan.nodes if node.shared_device}
        self._users = {name: _Users() for name in self._device.values()}
        self._say = say

    def occupied(self, node: str, said: Occupy) -> None:
        """A node begins to compute."""
        users = self._users[self._device[node]]
        users.advance(said.moment)
        users.jobs[node], users.left[node] = said.job, said.seconds
        self._tell(users)

    def vacated(self, node: str, said: Vacate) -> None:
        """A node has ended what it computed."""
        if self._users[self._device[node]].jobs.get(node) == said.job:
            self._remove(node, said.moment)

    def lost(self, nodes: Collection[str]) -> None:
        """These nodes are gone, perhaps in the middle of computing."""
        for node in self._device.keys() & nodes:
            self._remove(node, time.monotonic())

    def _remove(self, node: str, moment: float) -> None:
        users = self._users[self._device[node]]
        if node in users.left:
            users.advance(moment)
            del users.jobs[node], users.left[node]
            self._tell(users)

    def _tell(self, users: _Users) -> None:
        for node, moment in users.dues().items():
            self._say(node, Due(users.jobs[node], moment))
