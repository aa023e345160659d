"""How a link's rate, delay and loss go on with time: rows of a trace, over and over again."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

_FRAME_BITS = 8 * 1514  # a full Ethernet frame
_LEAST_RATE = 1e3  # bits per second, of any link


class Row(NamedTuple):
    """From `at` on (seconds): bits per second, seconds one way, share; None: as the link has it."""

    at: float
    rate_up: float
    rate_down: float
    delay: float | None = None
    loss: float | None = None


@dataclass(frozen=True)
class Trace:
    """Rows in order, the first at 0; after `seconds` it repeats from its start."""

    seconds: float
    rows: tuple[Row, ...]

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Trace":
        """From what plan.json has."""
        return cls(tree["seconds"], tuple(Row(*row) for row in tree["rows"]))

    @property
    def first(self) -> Row:
        """The first row that is no outage: what links have before time zero."""
        least = self.least_rate
        carrying = (row for row in self.rows if min(row.rate_up, row.rate_down) > least)
        return next(carrying, self.rows[0])

    @property
    def least_rate(self) -> float:
        """What is shaped where the trace has less: one full frame in the shortest step.

        A token bucket's debt is time: a frame that left at a lower rate would go on holding up the
        next ones after the rate has risen.
        """
        return max(_LEAST_RATE, _FRAME_BITS / self.shortest_step)

    @property
    def shortest_step(self) -> float:
        """Seconds."""
        ends = [*(row.at for row in self.rows), self.seconds]
        return min(round(end - start, 9) for start, end in pairwise(ends))

    def moment(self, step: int, begun_at: int) -> float:
        """When the step-th row begins, counted from time zero, for a link that began with a row."""
        cycle, place = divmod(step, len(self.rows))
        return cycle * self.seconds + self.rows[place].at - self.rows[begun_at].at

    def mean_rates(self, start: float, end: float, begun_at: int = 0) -> tuple[float, float]:
        """Up and down between two moments, for a link that began with that row."""
        ahead = self.rows[begun_at].at
        start, end = start + ahead, max(end, start + 1e-9) + ahead
        up, down = (
            (self._carried(end, way) - self._carried(start, way)) / (end - start) for way in (0, 1)
        )
        return up, down

    def _carried(self, moment: float, way: int) -> float:
        """Bits since the start of the trace."""
        cycles, rest = divmod(moment, self.seconds)
        place = bisect_right(self.rows, rest, key=lambda row: row.at) - 1
        row, sums = self.rows[place], self._sums[way]
        rate = (row.rate_up, row.rate_down)[way]
        return cycles * sums[-1] + sums[place] + (rest - row.at) * rate

    @cached_property
    def _sums(self) -> tuple[list[float], list[float]]:
        """Bits carried before each row, and in all."""
        ends = [*(row.at for row in self.rows[1:]), self.seconds]
        lengths = [end - row.at for row, end in zip(self.rows, ends, strict=True)]

        def sums(rates: Iterator[float]) -> list[float]:
            parts = (rate * length for rate, length in zip(rates, lengths, strict=True))
            return list(accumulate(parts, initial=0.0))

        return sums(row.rate_up for row in self.rows), sums(row.rate_down for row in self.rows)
