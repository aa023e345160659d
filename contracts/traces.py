"""Traces: how the rate, delay and loss of a link change with time, repeated over and over."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

_FRAME_BITS = 8 * 1514  # a full Ethernet frame
_LEAST_RATE = 1e3  # bits per second, of any link


class Row(NamedTuple):
    """The values from `at` (seconds) on: rates in bits per second, delay one way, loss as a share.

    None leaves the link's own value.
    """

    at: float
    rate_up: float
    rate_down: float
    delay: float | None = None
    loss: float | None = None


@dataclass(frozen=True)
class Trace:
    """Rows in order of time, the first at 0; after `seconds` the trace starts again."""

    seconds: float
    rows: tuple[Row, ...]

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> "Trace":
        """Read it from plan.json."""
        return cls(tree["seconds"], tuple(Row(*row) for row in tree["rows"]))

    @property
    def first(self) -> Row:
        """The first row that is not an outage, which links have before time zero."""
        least = self.least_rate
        carrying = (
            row
            for row in self.rows
            if min(row.rate_up, row.rate_down) > least and (row.loss or 0.0) < 1.0
        )
        return next(carrying, self.rows[0])

    @property
    def least_rate(self) -> float:
        """The lowest rate that a link is given: one full frame in the shortest step.

        A token bucket measures its debt in time. A frame sent at a lower rate than this would still
        delay the frames behind it after the rate has risen.
        """
        return max(_LEAST_RATE, _FRAME_BITS / self.shortest_step)

    @property
    def shortest_step(self) -> float:
        """The seconds of the shortest row."""
        ends = [*(row.at for row in self.rows), self.seconds]
        return min(round(end - start, 9) for start, end in pairwise(ends))

    def moment(self, step: int, begun_at: int) -> float:
        """Return when the step-th row begins, for a link that is in row `begun_at` at time zero."""
        cycle, place = divmod(step, len(self.rows))
        return cycle * self.seconds + self.rows[place].at - self.rows[begun_at].at

    def mean_rates(self, start: float, end: float, begun_at: int = 0) -> tuple[float, float]:
        """Return the mean rates up and down between two moments, for such a link."""
        ahead = self.rows[begun_at].at
        start, end = start + ahead, max(end, start + 1e-9) + ahead
        up, down = (
            (self._carried(end, way) - self._carried(start, way)) / (end - start) for way in (0, 1)
        )
        return up, down

    def _carried(self, moment: float, way: int) -> float:
        """Return the bits that the trace carries from its start to this moment."""
        cycles, rest = divmod(moment, self.seconds)
        place = bisect_right(self.rows, rest, key=lambda row: row.at) - 1
        row, sums = self.rows[place], self._sums[way]
        rate = (row.rate_up, row.rate_down)[way]
        return cycles * sums[-1] + sums[place] + (rest - row.at) * rate

    @cached_property
    def _sums(self) -> tuple[list[float], list[float]]:
        """The bits carried before each row, and in total."""
        ends = [*(row.at for row in self.rows[1:]), self.seconds]
        lengths = [end - row.at for row, end in zip(self.rows, ends, strict=True)]

        def sums(rates: Iterator[float]) -> list[float]:
            parts = (rate * length for rate, length in zip(rates, lengths, strict=True))
            return list(accumulate(parts, initial=0.0))

        return sums(row.rate_up for row in self.rows), sums(row.rate_down for row in self.rows)
