"""Reads quantities with units: "20mbit", "10ms", "0.5%". All raise ValueError if malformed."""

import math
import re

LONGEST = 3.6e8  # seconds: eleven years; clocks count nanoseconds in 64 bits
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*([a-zA-Z%]*)\s*", re.ASCII)
_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_RATES = _BITS | {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9}
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}


def _parse(text: str, units: dict[str, float], example: str) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise ValueError(f'"{text}" is not understood; write it like "{example}"')
    number = float(match[1]) * units[match[2].lower()]
    if not math.isfinite(number):
        raise ValueError(f'"{text}" is too large; write it like "{example}"')
    return number


def bits_per_second(value: str) -> float:
    """Read a rate such as "20mbit"; kbps, mbps and gbps mean bits as well."""
    rate = _parse(value, _RATES, "20mbit")
    if rate <= 0:
        raise ValueError(f'"{value}" is not a rate; it must be above zero')
    return rate


def seconds(value: str | int | float) -> float:
    """Read a time such as "10ms"; a plain number is in seconds."""
    found = _parse(value, _TIMES, "10ms") if isinstance(value, str) else value
    if not 0 <= found < math.inf:
        raise ValueError(f"{value} is not a time; it must be finite and not negative")
    if found > LONGEST:
        raise ValueError(f"{value} is longer than clocks can count; give at most 100000h")
    return float(found)


def size_in_bytes(value: str | int) -> int:
    """Read a size such as "64kb"; a plain number is in bytes."""
    size = value if isinstance(value, int) else round(_parse(value, _SIZES, "64kb"))
    if size <= 0:
        raise ValueError(f'"{value}" is not a size; it must be above zero')
    return size


def share(value: str | int | float) -> float:
    """Read a share between 0 and 1, or a percentage such as "0.5%"."""
    number = _parse(value, {"%": 0.01, "": 1.0}, "0.5%") if isinstance(value, str) else float(value)
    if not 0 <= number <= 1:
        raise ValueError(f'"{value}" is not a share; it must lie between 0 and 1 (or 0% and 100%)')
    return number
