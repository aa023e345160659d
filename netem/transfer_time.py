"""Predicts how long TCP takes for a message over one shaped link, slow start included."""

import math
from dataclasses import dataclass

_MSS, _FRAME = 1448, 1514  # payload and frame of a full TCP segment
_FIRST_WINDOW = 10  # segments: Linux's initial congestion window (RFC 6928)


@dataclass(frozen=True)
class Transfer:
    """A message of `size` bytes over a link: rate in bits per second, delay and round trip in s."""

    size: int
    rate: float
    delay: float
    round_trip: float

    @property
    def ideal_seconds(self) -> float:
        """The time for all frames at the link's rate, and for the last one to cross the link."""
        frames = math.ceil(self.size / _MSS)
        return 8 * (self.size + frames * (_FRAME - _MSS)) / self.rate + self.delay

    @property
    def slow_start_seconds(self) -> float:
        """How long the link is idle while TCP's window doubles from its initial size."""
        window, idle, sent = _FIRST_WINDOW, 0.0, 0
        while sent + window * _MSS < self.size:
            busy = 8 * window * _FRAME / self.rate
            if busy >= self.round_trip:
                break
            idle += self.round_trip - busy
            sent += window * _MSS
            window *= 2
        return idle
