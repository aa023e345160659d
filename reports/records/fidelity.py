"""Judge how far a run can be trusted: the measured links, computing overruns, and a verdict.

`exact`: every link is within 2 % of its rate and 0.1 ms of its round trip, and there is no
computing overrun (up to 0.01 % can come from the clock's own resolution).

`good`: links are within 5 % and 2 ms (or 10 % of the round trip), and overruns are at most 2 % of
computing.

`distorted`: anything else, with a sentence that says why.

A link with a trace is measured at the trace's first values. The changes of a trace may be late by 1
ms on average for `exact`, and by 10 ms for `good`. A link with jitter is allowed its jitter. A link
with jitter or loss is not judged by its rate, because the rate that TCP reaches over it is what the
run is meant to find out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Probes = list[dict[str, Any]]


@dataclass(frozen=True)
class Bounds:
    """The largest errors that a verdict allows."""

    rate: float
    delay_seconds: float
    delay_share: float
    overrun_share: float
    late_mean: float  # seconds, of a trace's changes


VERDICTS = {
    "exact": Bounds(0.02, delay_seconds=1e-4, delay_share=0, overrun_share=1e-4, late_mean=1e-3),
    "good": Bounds(0.05, delay_seconds=2e-3, delay_share=0.1, overrun_share=0.02, late_mean=0.01),
}


def judge(
    probes: Probes | None,
    overrun_share: float | None,
    drops: int | None,
    traces: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The verdict, the figures that decided it, and a sentence when time was distorted.

    A run that used no link has none measured and is judged by its computing.
    """
    if probes is None or (not probes and overrun_share is None):
        return {}
    faults = {
        name: _fault(bounds, probes, overrun_share or 0.0) or _late(bounds, traces)
        for name, bounds in VERDICTS.items()
    }
    verdict = next((name for name, fault in faults.items() if not fault), "distorted")
    found: dict[str, Any] = {
        "verdict": verdict,
        "rate_error": _largest(_rate_errors(probes)),
        "round_trip_error_seconds": _largest(p["round_trip_error"] for p in probes),
        "overrun_share": overrun_share,
        "drops": drops,
        "links": probes,
    }
    if verdict == "distorted":
        found["reason"] = faults["good"]
    return found


def _fault(bounds: Bounds, probes: Probes, overrun_share: float) -> str:
    """Say in a sentence what exceeds these bounds; empty if nothing does."""
    for probe in probes:
        for error in _rate_errors([probe]):
            if abs(error) > bounds.rate:
                return f"{probe['link']}'s rate is off by {error:+.1%}: the host is too busy"
        allowed = bounds.delay_seconds + probe["jitter"] * 2
        allowed += bounds.delay_share * probe["round_trip_asked"]
        if abs(probe["round_trip_error"]) > allowed:
            off = probe["round_trip_error"] * 1e3
            return f"{probe['link']}'s round trip is off by {off:+.2f} ms: the host is too busy"
    if overrun_share > bounds.overrun_share:
        return (
            f"{overrun_share:.0%} of the computing time is overrun: this host is slower than the "
            "devices it stands for; use --clock virtual, or slower devices"
        )
    return ""


def _late(bounds: Bounds, traces: Sequence[dict[str, Any]]) -> str:
    for trace in traces:
        late = trace["late_seconds_mean"]
        if late > bounds.late_mean:
            off = f"{1e3 * late:.1f} ms"
            return f"the changes of trace {trace['trace']} are {off} late: the host is too busy"
    return ""


def _rate_errors(probes: Probes) -> list[float]:
    steady = [p for p in probes if not p["loss"] and not p["jitter"]]
    return [p["rate_error"] for p in steady if p["rate_error"] is not None]


def _largest(errors: Any) -> float | None:
    return max(errors, key=abs, default=None)
