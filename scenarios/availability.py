"""Which clients are there: [availability], by a process or from a file, and what the plan has."""

from collections.abc import Sequence

from pydantic import model_validator

from contracts.availability import Availability, OnOff
from scenarios import availability_files
from scenarios.quantities import seconds, share
from scenarios.sections import Bound, Section, Share

_SHORTEST_MEAN = 0.1  # seconds: coming and going takes the launcher time


class ComingAndGoing(Section):
    """Clients come and go: for exponential times with these means, or as a file says."""

    on: Bound | None = None  # the mean time that a client is there
    off: Bound | None = None  # the mean time that it is away
    first: Share | None = None  # of the clients that are there at the start; left out: as later
    trace: str | None = None  # a file of rows client, from, until

    @model_validator(mode="after")
    def _says_it_in_one_way(self) -> "ComingAndGoing":
        means = [mean for mean in (self.on, self.off) if mean is not None]
        if self.trace is not None and (means or self.first is not None):
            raise ValueError("a trace has the times; take out either trace, or on, off and first")
        if self.trace is None and len(means) < 2:
            raise ValueError("give the mean times on and off, both, or a trace")
        if any(seconds(mean) < _SHORTEST_MEAN for mean in means):
            raise ValueError(f"on and off are too short; give at least {_SHORTEST_MEAN:g}s each")
        return self


def check(section: ComingAndGoing | None, clients: Sequence[str]) -> None:
    """Raise BadInput if the file is not there, is wrong, or names a client that does not exist."""
    if section is not None and section.trace is not None:
        availability_files.load(section.trace, clients)


def planned(
    section: ComingAndGoing | None, clients: Sequence[str], seed: int
) -> Availability | None:
    """Return who is there when, as the plan has it; None if all are there all the time."""
    if section is None:
        return None
    if section.trace is not None:
        return Availability(times=availability_files.load(section.trace, clients))
    assert section.on is not None and section.off is not None
    on, off = seconds(section.on), seconds(section.off)
    first = on / (on + off) if section.first is None else share(section.first)
    return Availability(process=OnOff(on=on, off=off, first=first, seed=seed), times={})
