"""Does once, before the nodes are forked, what every node will do in its rounds.

The first use of code is slow inside the guest: pages have to be faulted in and tables filled. Done
in the parent process, this is done for all nodes, and no round is slowed down by it.
"""

import numpy as np

from contracts.messages import SAMPLES, SENT_AT, Kind
from protocols.averaging import WeightedMean
from protocols.wire import Expected, Message, decode, encode


def warm_up() -> None:
    """Encode, decode and average a small model."""
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
