"""Numbers and links formatted for people to read."""

from pathlib import Path

from contracts.links import LinkSpec
from contracts.plan import Plan

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_MOST_KINDS = 5  # of links in one sentence


def duration(seconds: float) -> str:
    """Format seconds, for example 0.42 s, 12.3 s, 3 min 12 s, 2 h 5 min or 3 d 4 h."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    minutes = round(seconds / _MINUTE)
    if minutes * _MINUTE < _DAY:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(seconds / _HOUR)
    return f"{hours // 24} d {hours % 24} h"


def size(count: int) -> str:
    """Format a number of bytes, for example 812 B or 12.3 MB."""
    return _scaled(count, "B") if count >= 1000 else f"{count} B"


def percent(share: float) -> str:
    """Format a share between 0 and 1, for example 71.4 %."""
    return f"{100 * share:.1f} %"


def links(plan: Plan) -> str:
    """Describe a plan's links: for each tier its profile, rate and delay."""
    tiers: dict[str, list[str]] = {}
    for link in plan.links:
        if link.tier is not None:
            phrases = tiers.setdefault(link.tier, [])
            if (phrase := _link(link)) not in phrases:
                phrases.append(phrase)
    for link in plan.links:
        if link.shared is not None and link.down is not None and link.up is not None:
            rates = _both_ways(rate(link.down.rate), rate(link.up.rate))
            tiers.setdefault(link.shared, [f"{rates}, shared"])
    return "; ".join(f"{tier} {_few(phrases)}" for tier, phrases in tiers.items())


def _few(phrases: list[str]) -> str:
    if len(phrases) == 1:
        return phrases[0]
    if len(phrases) <= _MOST_KINDS:
        return f"{', '.join(phrases[:-1])} or {phrases[-1]}"
    return f"{len(phrases)} kinds"


def _link(link: LinkSpec) -> str:
    numbers = "not shaped"
    if link.up is not None and link.down is not None:
        rates = _both_ways(rate(link.up.rate), rate(link.down.rate))
        delays = _both_ways(f"{1000 * link.up.delay:g} ms", f"{1000 * link.down.delay:g} ms")
        numbers = f"{rates}, {delays}"
    if link.trace is not None:
        numbers = f"trace {Path(link.trace).stem}"
    # A profile can be changed in part: its name alone would not say what the link was.
    return f"{link.profile} ({numbers})" if link.profile else numbers


def _both_ways(up: str, down: str) -> str:
    return up if up == down else f"{up} up, {down} down"


def rate(bits_per_second: float | None) -> str:
    """Format a rate, for example 20 Mbit/s."""
    return "no limit" if bits_per_second is None else _scaled(bits_per_second, "bit/s", "g")


def _scaled(value: float, unit: str, style: str = ".1f") -> str:
    for limit, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:{style}} {prefix}{unit}"
    return f"{value:{style}} {unit}"
