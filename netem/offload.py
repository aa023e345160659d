"""Large packets on fast links: how many frames one packet may stand for.

A packet of many frames (segmentation offload) costs the host hardly more than one of a single
frame. It reaches the next hop all at once, so it must be short against the transfer it belongs to.
Our kernel charges, counts and queues such a packet as the frames it stands for, and one
acknowledgement as those that these frames would have had (the change `offload` of
netem.guest.patches).
"""

import math
from pathlib import Path

from contracts.links import Shape
from netem.shaping import FRAME_BYTES

MOST_FRAMES = 44  # what fits into 64 kB, TCP's largest packet
LONGEST_SECONDS = 0.001  # that a packet takes at a link's rate
LARGEST_ERROR = 0.001  # of the time that a model takes
_QUEUE_SHARE = 4  # a packet fills at most this part of a queue, lest slow start overflow it sooner
_SIGN = Path("/sys/module/sch_netem/parameters/counts_frames")


def kernel_counts_frames() -> bool:
    """Tell whether this kernel accounts for a large packet's frames; others see one packet."""
    return _SIGN.exists()


def frames(shape: Shape | None, message_bytes: int) -> int:
    """Return the most frames a packet may stand for where messages of this size cross a link."""
    most = min(MOST_FRAMES, 1 + math.floor(LARGEST_ERROR * message_bytes / FRAME_BYTES))
    if shape is None:
        return most
    if shape.jitter or shape.loss or shape.varies or shape.queueing != "fifo":
        return 1
    if shape.rate is not None:
        most = min(most, math.floor(LONGEST_SECONDS * shape.rate / (8 * FRAME_BYTES)))
        most = min(most, shape.queue // _QUEUE_SHARE)
    return max(1, most)
