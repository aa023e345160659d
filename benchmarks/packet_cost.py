"""Measures the host's processor time for each emulated packet, on the virtual clock.

    python -m benchmarks.packet_cost [--one-frame]

Eight senders at once, 45 MB each over ZeroMQ (ResNet-18), 20 ms round trip, at 1 Gbit/s and at
100 Mbit/s. The first transfer of each rate warms up and does not count.
"""

import math
import sys
import time
from typing import Any

from benchmarks.measured_run import processor_seconds
from cli.fidelity import error, measure
from nodes.fidelity_matrix import MatrixCell

RATES = (1000e6, 100e6)
TIMES = 4
_SENDERS, _ROUND_TRIP, _SIZE, _PAYLOAD = 8, 0.020, 45_000_000, 1448


def main() -> None:
    """Print microseconds a data packet, and how far the transfers are from their right times."""
    cell_of = {rate: MatrixCell(rate, _ROUND_TRIP, _SENDERS, bytes_each=_SIZE) for rate in RATES}
    cells = [cell_of[rate] for rate in RATES for _ in range(TIMES)]
    cells.append(MatrixCell(1e6, _ROUND_TRIP, 1))  # so that nobody has left when we look
    used: list[tuple[dict[str, Any], float, float]] = []

    def note(cell: dict[str, Any]) -> None:
        used.append((cell, processor_seconds(), time.monotonic()))

    measure(cells, "virtual", note, offload="--one-frame" not in sys.argv)
    for rate in RATES:
        own = [noted for noted in used if noted[0]["rate"] == rate]
        packets = _SENDERS * math.ceil(own[0][0]["size"] / _PAYLOAD) * (len(own) - 1)
        spent = 1e6 * (own[-1][1] - own[0][1]) / packets
        passed = 1e6 * (own[-1][2] - own[0][2]) / packets
        off = max(abs(error(cell)) for cell, _, _ in own)
        print(
            f"{rate / 1e6:5g} Mbit/s, {own[0][0]['frames']} frames a packet at most: "
            f"{spent:5.1f} us of processor time a frame, {passed:.1f} by the clock, "
            f"times off by {off:.3%} at most"
        )


if __name__ == "__main__":
    main()
