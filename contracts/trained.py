"""How much of a run was really computed, and how much was remembered from earlier runs."""

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.spool import DONE, REMEMBERED


@dataclass(frozen=True)
class Counts:
    """Numbers of trainings, or of evaluations: done in this run, and remembered."""

    done: int = 0
    remembered: int = 0

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Counts":
        """Count the lines of statistics, each of which ends with how a job was answered."""
        words = [line.split()[-1] for line in lines if line.strip()]
        return cls(done=words.count(DONE), remembered=words.count(REMEMBERED))


NOTHING = Counts()
