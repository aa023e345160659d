"""How long TCP takes for a message over one shaped link: the frames, the way, and slow start."""

import math
from dataclasses import dataclass

_MSS, _FRAME = 1448, 1514  # payload and frame of a full TCP segment
_FIRST_WINDOW = 10  # segments: Linux's initial congestion window (RFC 6928)


@dataclass(frozen=True)
class Transfer:
    """So many bytes over a link of that rate (bits per second), delay and round trip (seconds)."""

    size: int
    rate: float
    delay: float
    round_trip: float

    @property
    def ideal_seconds(self) -> float:
        """All frames at the link's rate, and the last one's way across."""
        frames = math.ceil(self.size / _MSS)
        return 8 * (self.size + frames * (_FRAME - _MSS)) / self.rate + self.delay

    @property
    def slow_start_seconds(self) -> float:
        """How long the link stands idle while the window doubles from its first size."""
        window, idle, sent = _FIRST_WINDOW, 0.0, 0
        while sent + window * _MSS < self.size:
            busy = 8 * window * _FRAME / self.rate
            if busy >= self.round_trip:
                break
            idle += self.round_trip - busy
            sent += window * _MSS
            window *= 2
        return idle
