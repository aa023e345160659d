"""Large packets on fast links: how many frames one packet may stand for.

A packet of many frames (segmentation offload) reaches the next hop all at once. Measured against
one frame a packet (45 and 9 MB, 100 and 1000 Mbit/s, round trips of 2 to 100 ms): packets of 2
frames change a transfer by 0.003 % at most, because TCP acknowledges every other frame anyhow;
those of 4 and 8 make slow start up to 0.35 ms longer, whatever follows; those of 12 to 44 up to
0.6 ms, and save little more.

What they save the host grows with the rate (benchmarks.packet_cost, processor time for a frame of
45 MB, 8 frames a packet against 1): 4.3 to 4.9 us against 4.8 to 5.5 at 1 Gbit/s, as much as
without at 400 Mbit/s, and 7.6 to 8.4 against 4.2 to 5.4 at 100. Packets of 2 and 4 frames cost more
than single ones at every rate: so it is eight, or one.

Our kernel charges, counts and queues such a packet as the frames it stands for, and one
acknowledgement as those that these frames would have had (the change `offload` of
netem.guest.patches).
"""

from pathlib import Path

from contracts.links import Shape
from netem.shaping import FRAME_BYTES

MOST_FRAMES = 8
LONGEST_SECONDS = 0.0002  # that a packet takes at a link's rate: from 484 Mbit/s on
LARGEST_ERROR = 0.001  # of the time that a model takes
_LATE_SECONDS = 0.00035  # what packets of 4 or 8 frames add to a transfer
_QUEUE_SHARE = 8  # a packet fills at most this part of a queue, which it may overfill once
_SIGN = Path("/sys/module/sch_netem/parameters/counts_frames")

# With large packets, TCP would hold back the last part of its window to send whole packets later.
TCP_SETTINGS = {"ipv4/tcp_tso_win_divisor": "255"}


def kernel_counts_frames() -> bool:
    """Tell whether this kernel accounts for a large packet's frames; others see one packet."""
    return _SIGN.exists()


def small_enough(message_bytes: int, rate: float) -> bool:
    """Tell whether large packets change the time of such a message little; `rate`: the lowest."""
    return LARGEST_ERROR * 8 * message_bytes / rate >= _LATE_SECONDS


def frames(shape: Shape | None) -> int:
    """Return the most frames that a packet on a link may stand for; None: it is not shaped."""
    if shape is None:
        return MOST_FRAMES
    if shape.jitter or shape.loss or shape.varies or shape.queueing != "fifo":
        return 1
    if shape.rate is None:
        return MOST_FRAMES
    most = min(LONGEST_SECONDS * shape.rate / (8 * FRAME_BYTES), shape.queue / _QUEUE_SHARE)
    return MOST_FRAMES if most >= MOST_FRAMES else 1
