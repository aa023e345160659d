"""Generates the traces that come with Metronome, from published statistics.

They are drawn, not recorded. They keep to what a source says (medians, percentiles, added delays);
what it leaves open (correlations, the lengths of bad periods) is assumed. Each file says which is
which. `python -m netem.profiles.trace_generator` writes the files again.
"""

import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "traces"

TraceRows = Iterator[tuple[float, ...]]


def lte_driving() -> TraceRows:
    """Draw lognormal rates that are correlated from step to step, with an occasional outage."""
    draws = random.Random("lte-driving")
    fading, outage = 0.0, 0
    for step in range(360):
        fading = 0.9 * fading + math.sqrt(1 - 0.9**2) * draws.gauss(0, 0.8)
        own_up, own_down = draws.gauss(0, 0.2), draws.gauss(0, 0.2)
        if outage == 0 and draws.random() < 1 / 120:  # one a minute in the mean
            outage = draws.randint(2, 8)  # 1 to 4 s
        up, down = 6e6 * math.exp(fading + own_up), 13e6 * math.exp(fading + own_down)
        if outage:
            outage, up, down = outage - 1, 0.0, 0.0
        yield step / 2, _three_digits(min(up, 50e6)), _three_digits(min(down, 100e6))


def wifi_interference() -> TraceRows:
    """Alternate good periods with bad ones, in which an interferer costs rate and adds delay."""
    draws = random.Random("wifi-interference")
    left, bad = 0, True
    for step in range(300):
        if left == 0:
            bad = not bad
            mean = 3.0 if bad else 12.0  # seconds; Pareto like the length of a transfer
            left = max(1, min(100, round(mean / 3 * draws.paretovariate(1.5) / 0.2)))
        left -= 1
        share = draws.uniform(0.1, 0.4) if bad else draws.uniform(0.8, 1.0)
        # Round trips: the median is 3 ms. A fifth of the time is bad, so the median of the bad
        # periods is the 90th percentile of all.
        hop = (0.020 if bad else 0.0025) * math.exp(draws.gauss(0, 0.5))
        yield step / 5, _three_digits(50e6 * share), round(min(hop, 0.25) / 2, 4)


def wan_diurnal() -> TraceRows:
    """Draw what others leave of a shared line, and the queue they cause: a day in 288 s."""
    draws = random.Random("wan-diurnal")
    for step in range(288):
        hour = step / 12
        load = 0.6 * (1 + 0.5 * math.cos(2 * math.pi * (hour - 21) / 24)) * draws.gauss(1, 0.03)
        load = min(load, 0.95)
        queue = 0.040 * max(0.0, (load - 0.7) / 0.25) ** 2
        yield float(step), _three_digits(100e6 * (1 - load)), round(0.020 + queue / 2, 4)


def _three_digits(rate: float) -> float:
    """Round to three significant digits: a fourth would mean nothing."""
    return float(f"{rate:.3g}")


_TRACES: dict[str, tuple[Callable[[], TraceRows], str, str]] = {
    "lte-driving": (
        lte_driving,
        "time,rate_up,rate_down",
        """LTE in a car: 180 s in steps of 0.5 s.
Held: medians of 13 Mbit/s down and 6 Mbit/s up (Huang et al., A Close Examination of Performance
and Power Characteristics of 4G LTE Networks, MobiSys 2012, abstract).
Assumed: lognormal around them (sigma 0.8), correlated over some 5 s, the same fading up and down;
outages of 1 to 4 s, drawn once a minute in the mean, of the kind that Winstein et al. recorded
while driving (Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks,
NSDI 2013).""",
    ),
    "wifi-interference": (
        wifi_interference,
        "time,rate,delay",
        """Wi-Fi with an interferer on the channel: 60 s in steps of 0.2 s.
Held: round trips of the Wi-Fi hop with a median of about 3 ms and a 90th percentile of about 20 ms
(Sui et al., Characterizing and Improving WiFi Latency in Large-Scale Operational Networks,
MobiSys 2016, section 1); `delay` is half of that.
Assumed: 50 Mbit/s as in profile wifi, of which 80-100 % are left in good times and 10-40 % in bad
ones; bad ones about a fifth of the time, of heavy-tailed length (Pareto, alpha 1.5).""",
    ),
    "wan-diurnal": (
        wan_diurnal,
        "time,rate,delay",
        """A shared wide-area line over a day, compressed: one second here is five minutes there.
Held: 30-50 ms of added delay when a line is full at peak hours (Lee, Lee, Yi, Moon, Operating a
Network Link at 100%, PAM 2011, abstract); here up to 40 ms a round trip.
Assumed: 100 Mbit/s and 20 ms as in profile wan-continent; others use 60 % of it in the mean, as a
cosine over the day with its peak at 21:00, three times its trough, and 3 % of noise.""",
    ),
}


def file_text(name: str) -> str:
    """Return the content of a trace's file."""
    rows, columns, about = _TRACES[name]
    lines = [f"# {line}" for line in about.splitlines()]
    lines += ["# Made by netem/profiles/trace_generator.py; s, bit/s, s.", columns]
    lines += [",".join(f"{value:.10g}" for value in row) for row in rows()]
    return "\n".join(lines) + "\n"


def names() -> list[str]:
    """Return the names of the traces that can be generated."""
    return list(_TRACES)


if __name__ == "__main__":
    for trace in names():
        (FOLDER / f"{trace}.csv").write_text(file_text(trace))
