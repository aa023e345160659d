"""Says when the packets of a flow leave: evenly spaced at its rate, always or on and off."""

import random
from collections.abc import Iterator
from itertools import count
from math import inf

from contracts.traffic import Flow

PAYLOAD_BYTES = 1400
FRAME_BYTES = PAYLOAD_BYTES + 42  # with the headers of UDP, IP and Ethernet, as the queues see it
# The shape of the Pareto distribution of on and off times: on-off sources with 1 < alpha < 2 add up
# to self-similar traffic (Willinger, Taqqu, Sherman, Wilson, Self-Similarity Through
# High-Variability, ToN 5(1), 1997).
ALPHA = 1.5


def departures(flow: Flow, seed: str) -> Iterator[float]:
    """Yield the seconds from time zero at which packets leave; the rate is that of whole frames."""
    gap = 8 * FRAME_BYTES / flow.rate
    until = inf if flow.until is None else flow.until
    for start, end in on_periods(flow, seed):
        if start >= until:
            return
        for number in count():
            moment = start + number * gap
            if moment >= min(end, until):
                break
            yield moment


def on_periods(flow: Flow, seed: str) -> Iterator[tuple[float, float]]:
    """Yield the start and end of each period in which the flow is on."""
    start = flow.start
    if flow.on is None or flow.off is None:  # a constant flow
        yield start, inf
        return
    draws = random.Random(seed)
    while True:
        end = start + pareto(draws, flow.on)
        yield start, end
        start = end + pareto(draws, flow.off)


def pareto(draws: random.Random, mean: float) -> float:
    """Draw a time with this mean; the shortest possible one is mean * (alpha - 1) / alpha."""
    return mean * (ALPHA - 1) / ALPHA * draws.paretovariate(ALPHA)
