"""Does once, before the hosts are forked, what every node will do for the first time.

First uses are slow inside the guest (pages to fault in, tables to fill); done in the parent they
are done for all, and no round pays for them.
"""

import numpy as np

from contracts.messages import SAMPLES, SENT_AT, Kind
from protocols.averaging import WeightedMean
from protocols.wire import Expected, Message, decode, encode


def warm_up() -> None:
    """One small model across the wire format and through an average."""
    weights = {"weights": np.ones(1 << 16, np.float32)}
    expected = Expected(
        kinds=frozenset({Kind.UPDATE}),
        local_round=1,
        shapes={"weights": ("float32", (1 << 16,))},
    )
    mean = WeightedMean()
    for samples in (1, 2):
        message = Message(Kind.UPDATE, "warm-up", 1, {SAMPLES: samples, SENT_AT: 0.0}, weights)
        mean.add(decode(encode(message), expected).tensors, samples)
    mean.mean()
