"""The device that a node computes on: its own, or one that it shares with other nodes.

A shared device gives everybody who computes on it an equal part of its speed, as processes on one
GPU have it. The launcher keeps the account (nodes/launch/shared_devices.py): it knows who computes
and tells each node when its training would end, anew whenever somebody begins or ends.
"""

import select
import time
from typing import Protocol

from contracts.control import Due, Occupy, Vacate
from nodes.control import Control
from nodes.recorder import now


def sleep_until(moment: float) -> None:
    """Sleep until this moment; return at once if it has passed."""
    left = moment - now()
    if left > 0:
        time.sleep(left)


class Device(Protocol):
    """Takes the time of one training after another."""

    def begin(self, start: float, seconds: float) -> None:
        """Begin what takes that long for somebody who has the device to himself."""

    def finish(self) -> float:
        """Wait until it is done, and return the moment at which it was."""


class OwnDevice:
    """A device that nobody else uses."""

    def begin(self, start: float, seconds: float) -> None:
        """Note when it will be done."""
        self._due = start + seconds

    def finish(self) -> float:
        """Sleep until then; whoever asks later is told the present moment."""
        due = max(now(), self._due)
        sleep_until(due)
        return due


class SharedDevice:
    """A node's part of a device that other nodes use as well."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._job = 0

    def begin(self, start: float, seconds: float) -> None:
        """Tell the launcher what is to be computed."""
        self._job += 1
        self._control.say(Occupy(self._job, start, seconds))

    def finish(self) -> float:
        """Wait until the moment that the launcher named last, and make room for the others."""
        due: float | None = None
        while due is None or due > now():
            left = None if due is None else due - now()
            if select.select([self._control], [], [], left)[0]:
                for said in self._control.read():
                    if isinstance(said, Due) and said.job == self._job:
                        due = said.moment
        self._control.say(Vacate(self._job, due))
        return due
