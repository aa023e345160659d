"""Group runs for a comparison: seeds together, scenarios apart, times against a baseline."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import Literal

from contracts.errors import BadInput
from reports.comparison.labels import differences, distinct_labels
from reports.comparison.metrics import TIME, Metric
from reports.comparison.runs import LeftOut, Point, Run
from reports.records.provenance import older_schema_warnings, provenance_differences
from scenarios.suggestions import did_you_mean

BEST = "best:"
Target = float | Literal["baseline"] | None  # a number, or what the baseline reached
_WORST_FIRST = ("distorted", "not known", "good", "exact")
_TASK = tuple(f"task.{key}" for key in ("dataset", "model", "partition", "concentration"))


@dataclass(frozen=True)
class Spread:
    """Statistics of a number over the runs of a group."""

    mean: float
    deviation: float | None  # of the sample; None for a single run
    least: float
    most: float


@dataclass(frozen=True)
class Group:
    """Runs that differ only in the seed."""

    label: str
    runs: tuple[Run, ...]
    target: float | None
    target_by_seed: Mapping[int, float] = field(
        default_factory=dict
    )  # if each seed has its own target

    @cached_property
    def arrivals(self) -> list[tuple[Run, Point]]:
        """The runs that reached the target, and the round in which each did."""
        found = [(run, self._arrival(run)) for run in self.runs]
        return [(run, point) for run, point in found if point is not None]

    @property
    def all_reached(self) -> bool:
        """Whether every run reached the target."""
        return len(self.arrivals) == len(self.runs)

    def spread(self, metric: Metric) -> Spread | None:
        """Return the metric's spread over the runs that have a value; None if none has one."""
        return spread(self.values(metric))

    def values(self, metric: Metric) -> list[float | None]:
        """Return the metric of each run, in the order of the runs."""
        return [metric.value_of(run, self._arrival(run)) for run in self.runs]

    @property
    def verdict(self) -> str:
        """The worst fidelity verdict of its runs."""
        known = [v for v in _WORST_FIRST if any(run.verdict == v for run in self.runs)]
        return known[0] if known else self.runs[0].verdict

    def _arrival(self, run: Run) -> Point | None:
        return run.arrival(self.target_by_seed.get(run.seed, self.target))


@dataclass(frozen=True)
class Section:
    """The groups of one scenario and size, which can be compared with each other."""

    title: str
    groups: tuple[Group, ...]
    baseline_name: str | None = None  # a label, or `best:` and a prefix of labels

    @property
    def has_target(self) -> bool:
        """Whether any group has a target accuracy."""
        return any(group.target is not None for group in self.groups)

    @property
    def baseline_candidates(self) -> list[Group]:
        """The groups among which the baseline is chosen."""
        if self.baseline_name is None or not self.baseline_name.startswith(BEST):
            return [group for group in self.groups if group.label == self.baseline_name]
        prefix = self.baseline_name.removeprefix(BEST)
        return [group for group in self.groups if group.label.startswith(prefix)]

    @cached_property
    def baseline(self) -> Group | None:
        """The fastest of the candidates; None if none of them reached the target."""
        # A mean over the lucky seeds only would make a group look faster than it is.
        whole = [group for group in self.baseline_candidates if group.all_reached]
        some = whole or [group for group in self.baseline_candidates if group.arrivals]
        return min(some, key=_mean_time, default=None)

    def speed_up(self, group: Group, metric: Metric = TIME) -> float | None:
        """Return the baseline's mean of a metric over this group's; by default, time to target."""
        base = self.baseline
        if base is None or base.target != group.target:
            return None
        whole, own = base.spread(metric), group.spread(metric)
        return None if whole is None or own is None or own.mean <= 0 else whole.mean / own.mean


@dataclass(frozen=True)
class Comparison:
    """All sections, with the warnings and notes that belong beside them."""

    sections: tuple[Section, ...]
    left_out: tuple[LeftOut, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> list[Group]:
        """The groups of all sections."""
        return [group for section in self.sections for group in section.groups]


def compare_runs(
    runs: Sequence[Run],
    left_out: Sequence[LeftOut] = (),
    target: Target = None,
    baseline: str | None = None,
) -> Comparison:
    """Group these runs and compare them; the scenarios' own targets apply unless one is given.

    With the target "baseline", each run is measured against the final accuracy of the baseline's
    run with the same seed.
    """
    _check_target(target, baseline)
    if not runs:
        first = f"{left_out[0].path}: {left_out[0].cause}" if left_out else "there are none"
        raise BadInput(f"none of the runs can be compared; {first}")
    given = None if target == "baseline" else target
    sections = [
        Section(title, groups, baseline) for title, groups in _sections(runs, given, baseline)
    ]
    if target == "baseline":
        sections = [_aimed_at_baseline(section) for section in sections]
    if baseline is not None and not any(section.baseline_candidates for section in sections):
        known = {group.label for section in sections for group in section.groups}
        closest = did_you_mean(baseline.removeprefix(BEST), known)
        raise BadInput(f"--baseline {baseline}: no finished run is called so; {closest}")
    return Comparison(tuple(sections), tuple(left_out), tuple(_warnings(sections)))


def _check_target(target: Target, baseline: str | None) -> None:
    if target == "baseline":
        if baseline is None or baseline.startswith(BEST):
            raise BadInput("--target baseline: whose accuracy it is must be said; name --baseline")
    elif target is not None and not 0 < target <= 1:
        raise BadInput(f"--target {target:g}: not an accuracy; give it as a share like 0.85")


def _aimed_at_baseline(section: Section) -> Section:
    """Set each seed's target to the accuracy that the baseline had at its end."""
    own = [run for group in section.baseline_candidates for run in group.runs if run.points]
    reached = {run.seed: run.points[-1].accuracy for run in own}
    mean = fmean(reached.values()) if reached else None
    groups = [replace(group, target=mean, target_by_seed=reached) for group in section.groups]
    return replace(section, groups=tuple(groups))


def _sections(
    runs: Sequence[Run], target: float | None, baseline: str | None
) -> list[tuple[str, tuple[Group, ...]]]:
    alike: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        key = (run.name, run.variant, run.size, *sorted(run.identity.items()))
        alike.setdefault(key, []).append(run)
    by_title: dict[str, list[list[Run]]] = {}
    for members in alike.values():
        by_title.setdefault(_title(members[0]), []).append(members)
    tasks = {tuple(run.identity.get(key) for key in _TASK) for run in runs}
    if len(by_title) > 1 and len(by_title) == len(alike) and len(tasks) == 1:
        # One run from each of several files with the same task: they are meant to be compared.
        title = ", ".join(text for text in tasks.pop() if text)
        return [(title, _groups(list(alike.values()), target, with_title=True))]
    titles = sorted(by_title, key=_natural)
    return [
        (f"{title}{where}", _groups(members, target))
        for title in titles
        for where, members in _apart(by_title[title], baseline)
    ]


def _apart(alike: list[list[Run]], baseline: str | None) -> list[tuple[str, list[list[Run]]]]:
    """If the baseline was run with several settings, put each group beside its own baseline."""
    bases = [members[0] for members in alike if _method(members[0]) == baseline]
    if len(bases) < 2:
        return [("", alike)]
    identities = [base.identity for base in bases]
    keys = [key for key in identities[0] if len({flat.get(key) for flat in identities}) > 1]
    places: dict[tuple[str | None, ...], list[list[Run]]] = {}
    for members in alike:
        place = tuple(members[0].identity.get(key) for key in keys)
        places.setdefault(place, []).append(members)
    words = {
        tuple(base.identity.get(key) for key in keys): f", {' '.join(told)}"
        for base, told in zip(bases, differences(identities), strict=True)
    }
    return [(words.get(place, ", other settings"), found) for place, found in places.items()]


def _method(run: Run) -> str:
    return run.variant or run.protocol


def _groups(
    alike: Sequence[list[Run]], target: float | None, with_title: bool = False
) -> tuple[Group, ...]:
    firsts = [members[0] for members in alike]
    names = [_method(run) for run in firsts]
    if with_title:
        names = [f"{_title(run)} {name}" for run, name in zip(firsts, names, strict=True)]
    labels = distinct_labels(names, [run.identity for run in firsts])
    groups = [
        Group(text, tuple(sorted(members, key=lambda r: r.seed)), target or members[0].target)
        for text, members in zip(labels, alike, strict=True)
    ]
    return tuple(sorted(groups, key=lambda group: _natural(group.label)))


def rho_suffix(groups: Iterable[Group]) -> str:
    """Say at which rho these accuracies were taken; empty if no run is on cells."""
    shares = sorted({run.rho for group in groups for run in group.runs if run.rho is not None})
    return f" at ρ = {' or '.join(f'{rho:g}' for rho in shares)}" if shares else ""


def spread(values: Iterable[float | None]) -> Spread | None:
    """Return the spread of the values that are known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    deviation = stdev(known) if len(known) > 1 else None
    return Spread(fmean(known), deviation, min(known), max(known))


def _mean_time(group: Group) -> float:
    time = group.spread(TIME)
    return 0.0 if time is None else time.mean


def _warnings(sections: Sequence[Section]) -> Iterable[str]:
    groups = [group for section in sections for group in section.groups]
    yield from _provenance(sections)
    if len({run.rho for group in groups for run in group.runs} - {None}) > 1:
        shares = rho_suffix(groups).replace(" or ", " and ")
        yield f"accuracies stand side by side{shares}; see --rho"
    clocks = sorted({run.clock for group in groups for run in group.runs})
    if len(clocks) > 1:
        yield f"times of different clocks stand side by side: {' and '.join(clocks)}"
    for section in sections:
        for group in section.groups:
            seeds = len({run.seed for run in group.runs})
            if seeds < len(group.runs):
                count = f"{len(group.runs)} runs have {seeds} {'seed' if seeds == 1 else 'seeds'}"
                yield f"{section.title}, {group.label}: {count}; each run counts"


def _provenance(sections: Sequence[Section]) -> Iterable[str]:
    """Yield warnings about older records and about runs that were made differently."""
    several = len(sections) > 1
    made = [
        (
            f"{section.title}, {group.label}" if several else group.label,
            [(str(run.path), run.made_by) for run in group.runs],
        )
        for section in sections
        for group in section.groups
    ]
    yield from older_schema_warnings(run for _, runs in made for run in runs)
    yield from provenance_differences(made)


def _title(run: Run) -> str:
    return f"{run.name} ({run.size})" if run.size else run.name


def _natural(text: str) -> list[tuple[int, str]]:
    """Return a sort key that puts fedadp-8 before fedadp-10."""
    parts: list[str] = re.findall(r"\d+|\D+", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
