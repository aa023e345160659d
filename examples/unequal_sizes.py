"""A partition in which some clients have far more samples than others.

The k-th of n clients gets a share that falls with its rank, 1/k, of samples drawn at random from
all classes: few clients hold most of the data, as on real phones. A link and a device of such a
user show that profiles come the same way.

    ./metronome run --plugin examples/unequal_sizes.py --set task.partition=by-rank \\
        --set devices.client=old-tablet
"""

import numpy as np

from contracts.errors import BadInput
from learning.data.deal import Deal


def by_rank(deal: Deal) -> list[np.ndarray]:
    """Return for each client the indices of its samples, no sample twice."""
    shares = 1 / np.arange(1, deal.clients + 1)
    sizes = np.maximum(1, shares / shares.sum() * sum(deal.sizes)).astype(int)
    if sizes.sum() > len(deal.labels):
        raise BadInput(f"task.partition: by-rank needs {sizes.sum()} samples; use fewer clients")
    order = deal.rng.permutation(len(deal.labels))  # the run's seed determines it
    return np.split(order[: sizes.sum()], np.cumsum(sizes)[:-1])


PARTITIONS = {"by-rank": by_rank}
LINKS = {
    "train-wifi": {
        "about": "the Wi-Fi of a train between two cities",
        "rate_down": "8mbit",
        "rate_up": "2mbit",
        "delay": "60ms",
        "jitter": "20ms",
        "loss": "0.5%",
    }
}
DEVICES = {
    "old-tablet": {
        "about": "a tablet of ten years ago",
        "speed": "1e9",
        "overhead": "10ms",
        "memory": "1gb",
    }
}
