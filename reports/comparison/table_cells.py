"""The texts of a comparison table, the same for the terminal and for Markdown."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from reports.comparison.groups import Comparison, Group, Section, Spread, rho_suffix
from reports.comparison.metrics import (
    ALWAYS,
    BEST,
    BYTES_ON_WIRE,
    BYTES_TO_TARGET,
    RISE_TIME,
    TIME,
    Kind,
    Metric,
    SpeedUp,
    Visibility,
    all_metrics,
)
from reports.figures.accuracy import time_unit
from reports.wording import percent

_NONE = "-"
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Unit:
    """The unit of a column: its size, its name, and the number of decimals."""

    scale: float
    name: str
    decimals: int


@dataclass(frozen=True)
class Column:
    """A column of a comparison table: its header, its text for a group, when it is shown."""

    name: str  # with a line break where the terminal should break it
    cell: Callable[[Group], str]
    shown: Visibility = ALWAYS
    in_words: bool = False  # text, so it is aligned to the left
    wraps: bool = False  # its cells may be wrapped if the terminal is narrow

    @property
    def header(self) -> str:
        """The header on one line."""
        return self.name.replace("-\n", "-").replace("\n", " ")


Units = Mapping[Kind, Unit]

_PLAIN = Unit(1.0, "B", 1)
_FIXED = {
    Kind.COUNT: Unit(1.0, "", 1),
    Kind.SHARE: Unit(0.01, "%", 1),
    Kind.SECONDS: Unit(1.0, "s", 3),
}


def unit_of_time(comparison: Comparison) -> Unit:
    """Choose one unit of time for all sections, suited to the smallest time."""
    to_target, risen = _means(comparison, TIME), _means(comparison, RISE_TIME)
    times = [mean for mean in to_target or risen if mean > 0] or [0.0]
    scale, name = time_unit(min(times))
    return Unit(scale, name, 2 if max(times) < 100 * scale else 1)


def columns(section: Section, time: Unit) -> list[Column]:
    """Return the columns of a section's table, from left to right."""
    units = _FIXED | {Kind.TIME: time, Kind.SIZE: _unit_of_size(section)}
    return [
        Column("variant", lambda group: group.label, in_words=True, wraps=True),
        Column("reached" if section.has_target else "runs", lambda group: _count(section, group)),
        *_metric_columns(section, units),
        Column("fidelity", lambda group: group.verdict, in_words=True),
    ]


def _metric_columns(section: Section, units: Units) -> Iterator[Column]:
    for row in all_metrics():
        if isinstance(row, SpeedUp):
            if section.baseline_name:
                yield Column(row.header, partial(_speed_up, section, row), row.shown)
        elif row.header is not None and (not row.shown.only_where_known or _known(section, row)):
            cell = partial(_explained if row.explained else _plain, row, units)
            yield Column(_header(row, units), cell, row.shown, wraps=row.explained)


def heading(section: Section) -> str:
    """Return the section's name and its target."""
    targets = sorted({group.target for group in section.groups if group.target is not None})
    if not targets:
        return f"{section.title}: no target" + rho_suffix(section.groups).replace(" at", ",")
    words = " or ".join(f"{100 * target:g} %" for target in targets)
    return f"{section.title}: to {words}{rho_suffix(section.groups)}"


def notes(section: Section) -> Iterator[str]:
    """Yield what a reader needs to know to understand a section's numbers."""
    if any(group.arrivals and not group.all_reached for group in section.groups):
        yield "* over those of its runs that reached the target"
    for metric in all_metrics():
        if isinstance(metric, Metric) and metric.note is not None:
            some = [group.label for group in section.groups if _some_lack(group, metric)]
            if some:
                yield metric.note.format(groups=", ".join(some))
    if section.baseline_name is None:
        return
    if any(group.target_by_seed for group in section.groups):
        yield f"the target, seed by seed: what {section.baseline_name} had reached at its end"
    base, baseline_candidates = (
        section.baseline,
        [group.label for group in section.baseline_candidates],
    )
    if base is not None and baseline_candidates == [base.label]:
        yield f"speed-up against {base.label}"
    elif base is not None:
        yield f"speed-up against {base.label}, the fastest of {', '.join(baseline_candidates)}"
    elif baseline_candidates:
        yield f"no speed-up: the target was not reached by {', '.join(baseline_candidates)}"
    else:
        yield f"no speed-up: no finished run of {section.baseline_name} here"
    if base is not None and any(group.target != base.target for group in section.groups):
        yield "no speed-up where the target is another than the baseline's"


def _means(comparison: Comparison, metric: Metric) -> list[float]:
    spreads = [group.spread(metric) for group in comparison.groups]
    return [found.mean for found in spreads if found is not None]


def _some_lack(group: Group, metric: Metric) -> bool:
    """Whether some runs of the group have a value and others have none."""
    return len({value is None for value in group.values(metric)}) == 2


def _known(section: Section, metric: Metric) -> bool:
    return any(group.spread(metric) is not None for group in section.groups)


def _unit_of_size(section: Section) -> Unit:
    found = [g.spread(BYTES_TO_TARGET) or g.spread(BYTES_ON_WIRE) for g in section.groups]
    least = min((size.mean for size in found if size is not None and size.mean > 0), default=0.0)
    return next((Unit(scale, name, 1) for scale, name in _SIZES if least >= scale), _PLAIN)


def _header(metric: Metric, units: Units) -> str:
    words = (metric.header or "").format(unit=units[metric.kind].name)
    beside = metric.in_brackets
    return words if beside is None else f"{words} ({units[beside.kind].name})"


def _count(section: Section, group: Group) -> str:
    runs = str(len(group.runs))
    return f"{len(group.arrivals)} of {runs}" if section.has_target else runs


def _plain(metric: Metric, units: Units, group: Group) -> str:
    """Return the mean and, in brackets, that of the metric shown with it."""
    words, beside = _mean(group.spread(metric), units[metric.kind]), metric.in_brackets
    if words == _NONE or beside is None:
        return words
    return f"{words} ({_mean(group.spread(beside), units[beside.kind])})"


def _explained(metric: Metric, units: Units, group: Group) -> str:
    """Return mean and deviation of a metric at the target, or why there is none."""
    if group.target is None:
        return "no target"
    found, unit = group.spread(metric), units[metric.kind]
    if found is None:
        best = group.spread(BEST)
        if best is None or group.target_by_seed:  # a best of another seed says nothing
            return "not reached"
        return f"not reached (best {_below(best.most)})"
    words = f"{found.mean / unit.scale:.{unit.decimals}f}"
    if found.deviation is not None:
        words += f" ± {found.deviation / unit.scale:.{unit.decimals}f}"
    return words + _star(group)


def _below(accuracy: float) -> str:
    """Round down, so that what fell short of the target does not look as if it had reached it."""
    return percent(math.floor(1000 * accuracy + 1e-6) / 1000)


def _speed_up(section: Section, row: SpeedUp, group: Group) -> str:
    base, ratio = section.baseline, section.speed_up(group, row.metric)
    star = _star(group) or (_star(base) if base else "")
    return _NONE if ratio is None else f"{ratio:.2f} x{star}"


def _star(group: Group) -> str:
    return "" if group.all_reached else " *"


def _mean(value: Spread | None, unit: Unit) -> str:
    return _NONE if value is None else f"{value.mean / unit.scale:.{unit.decimals}f}"
