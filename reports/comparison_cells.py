"""The words of a comparison table, the same for the terminal and for Markdown."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from reports.comparison import Comparison, Group, Section, Spread, at_rho
from reports.figure import time_unit
from reports.rise import WINDOW
from reports.words import percent

ROLLING, RISE, HALF = f"last {WINDOW} %", "T90", "T0.5"  # as in reports/rise.py
_NONE = "-"
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Unit:
    """What a column of numbers is divided by and called, and its digits after the point."""

    scale: float
    name: str
    decimals: int


IN_ROUNDS, TRAINING = "in rounds", "training a round (s)"  # columns for a wide table
_SECONDS = Unit(1.0, "s", 3)
_PERCENT, _PLAIN = Unit(0.01, "%", 1), Unit(1.0, "B", 1)


def unit_of_time(comparison: Comparison) -> Unit:
    """The same in all sections, so that times can be compared by eye; the smallest decides."""
    to_target = [g.time.mean for g in comparison.groups if g.time is not None]
    risen = [g.rise_time.mean for g in comparison.groups if g.rise_time is not None]
    times = [mean for mean in to_target or risen if mean > 0] or [0.0]
    scale, name = time_unit(min(times))
    return Unit(scale, name, 2 if max(times) < 100 * scale else 1)


def headers(section: Section, time: Unit) -> list[str]:
    """The columns of a section; one for the speed-up only where there is a baseline."""
    size = _unit_of_size(section)
    return [
        "variant",
        "reached" if section.aims else "runs",
        "rounds",
        f"time to target ({time.name})",
        *(["speed-up", IN_ROUNDS] if section.asked else []),
        "final %",
        "best %",
        ROLLING,
        f"{RISE} rounds ({time.name})",
        f"{HALF} rounds ({time.name})",
        f"{size.name} to target",
        f"{size.name} in all",
        *([TRAINING] if _trains(section) else []),
        "fidelity",
    ]


def cells(section: Section, group: Group, time: Unit) -> list[str]:
    """One group under those headers."""
    size = _unit_of_size(section)
    count = f"{len(group.arrivals)} of {len(group.runs)}" if section.aims else str(len(group.runs))
    return [
        group.label,
        count,
        _mean(group.rounds),
        _time(group, time),
        *(_speed_ups(section, group) if section.asked else []),
        _mean(group.final, _PERCENT),
        _mean(group.best, _PERCENT),
        _mean(group.rolling, _PERCENT),
        _rounds_and_time(group.rise_rounds, group.rise_time, time),
        _rounds_and_time(group.half_rounds, group.half_time, time),
        _mean(group.bytes_to_target, size),
        _mean(group.bytes_on_wire, size),
        *([_mean(group.local_training, _SECONDS)] if _trains(section) else []),
        group.verdict,
    ]


def heading(section: Section) -> str:
    """The section's name and what had to be reached."""
    targets = sorted({group.target for group in section.groups if group.target is not None})
    if not targets:
        return f"{section.title}: no target" + at_rho(section.groups).replace(" at", ",")
    words = " or ".join(f"{100 * target:g} %" for target in targets)
    return f"{section.title}: to {words}{at_rho(section.groups)}"


def notes(section: Section) -> Iterator[str]:
    """What the numbers of a section need to be understood."""
    if any(group.arrivals and not group.complete for group in section.groups):
        yield "* over those of its runs that reached the target"
    if some := [group.label for group in section.groups if _some_but_not_all_at_half(group)]:
        yield f"{HALF} of {', '.join(some)}: over those of its runs that reached one half"
    if section.asked is None:
        return
    if any(group.by_seed for group in section.groups):
        yield f"the target, seed by seed: what {section.asked} had reached at its end"
    base, candidates = section.baseline, [group.label for group in section.candidates]
    if base is not None and candidates == [base.label]:
        yield f"speed-up against {base.label}"
    elif base is not None:
        yield f"speed-up against {base.label}, the fastest of {', '.join(candidates)}"
    elif candidates:
        yield f"no speed-up: the target was not reached by {', '.join(candidates)}"
    else:
        yield f"no speed-up: no finished run of {section.asked} here"
    if base is not None and any(group.target != base.target for group in section.groups):
        yield "no speed-up where the target is another than the baseline's"


def _some_but_not_all_at_half(group: Group) -> bool:
    return len({run.rise.half_rounds is None for run in group.runs}) == 2


def _unit_of_size(section: Section) -> Unit:
    found = [group.bytes_to_target or group.bytes_on_wire for group in section.groups]
    least = min((size.mean for size in found if size is not None and size.mean > 0), default=0.0)
    return next((Unit(scale, name, 1) for scale, name in _SIZES if least >= scale), _PLAIN)


def _time(group: Group, unit: Unit) -> str:
    if group.target is None:
        return "no target"
    if group.time is None:
        if group.best is None or group.by_seed:  # one seed's best is no match for another's target
            return "not reached"
        return f"not reached (best {_below(group.best.most)})"
    words = f"{group.time.mean / unit.scale:.{unit.decimals}f}"
    if group.time.deviation is not None:
        words += f" ± {group.time.deviation / unit.scale:.{unit.decimals}f}"
    return words + _star(group)


def _rounds_and_time(rounds: Spread | None, seconds: Spread | None, unit: Unit) -> str:
    return _NONE if rounds is None else f"{_mean(rounds)} ({_mean(seconds, unit)})"


def _below(accuracy: float) -> str:
    """Rounded down: what fell short of the target must not read like it."""
    return percent(math.floor(1000 * accuracy + 1e-6) / 1000)


def _trains(section: Section) -> bool:
    return any(group.local_training is not None for group in section.groups)


def _speed_ups(section: Section, group: Group) -> list[str]:
    base = section.baseline
    star = _star(group) or (_star(base) if base else "")
    ratios = (section.speed_up(group), section.speed_up_in_rounds(group))
    return [_NONE if ratio is None else f"{ratio:.2f} x{star}" for ratio in ratios]


def _star(group: Group) -> str:
    return "" if group.complete else " *"


def _mean(value: Spread | None, unit: Unit = _PLAIN) -> str:
    return _NONE if value is None else f"{value.mean / unit.scale:.{unit.decimals}f}"
