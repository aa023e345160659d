"""A study of link profiles: how long each took with each method, and what limited it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from contracts.errors import BadInput
from contracts.events import Phase
from reports.bottleneck.attribution import BOTH_DIRECTIONS, phase_or_both_directions
from reports.bottleneck.used_links import DOWN, UP
from reports.comparison.groups import Group
from reports.comparison.over_settings import SettingsComparison, compare_over_settings
from reports.comparison.runs import Run

COMPUTING, NETWORK, WAITING = "computing", "network", "waiting"
KINDS = (COMPUTING, NETWORK, WAITING)
_KIND = {Phase.COMPUTE: COMPUTING, Phase.AGGREGATE: COMPUTING, UP: NETWORK, DOWN: NETWORK}


@dataclass(frozen=True)
class Cell:
    """One method on one profile; its runs differ only in the seed."""

    profile: str
    method: str
    group: Group
    parts: Mapping[str, float]  # mean shares of the elapsed time: `edge-cloud up`, `client compute`

    @property
    def shares(self) -> dict[str, float]:
        """The shares by kind (computing, network, waiting); they add up to 1."""
        found = dict.fromkeys(KINDS, 0.0)
        for part, share in self.parts.items():
            found[_KIND.get(part.rpartition(" ")[2], WAITING)] += share
        return found

    @property
    def largest(self) -> tuple[str, float] | None:
        """The part with most of the time, with a tier's directions merged where both matter."""
        tiers: dict[str, float] = defaultdict(float)
        for part, share in self.parts.items():
            place, _, phase = part.rpartition(" ")
            tiers[place] += share if phase in (UP, DOWN) else 0.0
        merged: dict[str, float] = defaultdict(float)
        for part, share in self.parts.items():
            place, _, phase = part.rpartition(" ")
            merged[f"{place} {phase_or_both_directions(phase, share, tiers[place])}"] += share
        name = max(merged, key=lambda part: merged[part], default=None)
        return None if name is None else (name, merged[name])


@dataclass(frozen=True)
class LinkStudy:
    """All methods on all profiles, in the order in which the profiles were named."""

    tier: str
    over: SettingsComparison
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """The scenario's name and size."""
        return self.over.panels[0].title

    @property
    def methods(self) -> list[str]:
        """The methods that were tried."""
        return [series.label for series in self.over.panels[0].series]

    @property
    def conclusion(self) -> str:
        """Where the bottleneck moves: one sentence, or one for each method if they differ."""
        by_words: dict[str, list[str]] = {}
        for method in self.methods:
            found = [(cell.profile, cell.largest) for cell in self.cells if cell.method == method]
            if words := describe_bottlenecks(
                [(profile, part[0]) for profile, part in found if part]
            ):
                by_words.setdefault(words, []).append(method)
        if len(by_words) == 1:
            (words,) = by_words
            return f"{words[0].upper()}{words[1:]}."
        return " ".join(f"{', '.join(who)}: {words}." for words, who in by_words.items())


def link_study(runs: Sequence[Run], key: str) -> LinkStudy | None:
    """Build a study from runs; None if fewer than two profiles have a finished run."""
    try:
        over = compare_over_settings(runs, [key])
    except BadInput:
        return None
    (axis,), panel = over.axes, over.panels[0]
    cells = tuple(
        Cell(profile, series.label, group, _mean_parts(group.runs))
        for profile in axis.texts
        for series in panel.series
        if (group := series.groups.get((profile,))) is not None
    )
    return LinkStudy(key.partition(".")[2], over, cells)


def describe_bottlenecks(largest: Sequence[tuple[str, str]]) -> str:
    """Say over which profiles each part is the bottleneck, from (profile, part) in order."""
    stretches = [
        (describe_part(part), [profile for profile, _ in found])
        for part, found in groupby(largest, key=lambda entry: entry[1])
    ]
    return "; ".join(_stretch(at, len(stretches), *found) for at, found in enumerate(stretches))


def describe_part(part: str) -> str:
    """Describe a part, for example: the edge-cloud upload; the clients' computing."""
    place, _, phase = part.rpartition(" ")
    if phase == Phase.COMPUTE:
        return f"the {place}s' computing" if place != "cloud" else "the cloud's computing"
    if phase == Phase.AGGREGATE:
        return f"aggregation at the {place}"
    words = {UP: "upload", DOWN: "download", BOTH_DIRECTIONS: "link"}.get(phase)
    return f"the {place} {words}" if words else "waiting"


def _stretch(at: int, count: int, words: str, profiles: list[str]) -> str:
    first, last = profiles[0], profiles[-1]
    if count == 1:
        return f"{words} is the bottleneck on all profiles"
    if at == 0:
        return f"{words} is the bottleneck {f'on {first}' if first == last else f'up to {last}'}"
    if first == last:
        return f"on {first} it is {words}"
    return f"from {first} {'on' if at == count - 1 else f'to {last}'} it is {words}"


def _mean_parts(runs: Sequence[Run]) -> dict[str, float]:
    """Return mean shares over the runs that have them; a part that a run lacks took no time."""
    told = [run.time_by_part for run in runs if run.time_by_part]
    names = dict.fromkeys(name for parts in told for name in parts)
    return {name: fmean(parts.get(name, 0.0) for parts in told) for name in names}
