"""Compare runs over the values of one or two settings."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from contracts.errors import BadInput
from reports.comparison.groups import Comparison, Group, Target, compare_runs
from reports.comparison.metrics import FINAL
from reports.comparison.runs import Run
from reports.comparison.setting_values import (
    SettingValues,
    setting_texts,
    setting_values,
    without_settings,
)

Place = tuple[str | None, ...]  # a value for each setting; None where the runs have no such setting

MOST_KEYS = 2
_MOST_NAMED = 4  # listed of the values at which a series has no run


@dataclass(frozen=True)
class Series:
    """Groups that differ only in the compared settings, and all lack the same of them."""

    label: str
    missing_settings: tuple[str, ...]
    groups: Mapping[Place, Group]

    def at(self, place: Place) -> Group | None:
        """Return the group at these values; a setting that the series lacks does not matter."""
        (some, *_) = self.groups
        return self.groups.get(
            tuple(word if own is not None else None for word, own in zip(place, some, strict=True))
        )


@dataclass(frozen=True)
class Panel:
    """The series of one scenario and size."""

    title: str
    series: tuple[Series, ...]

    @property
    def groups(self) -> list[Group]:
        """The groups of all series."""
        return [group for series in self.series for group in series.groups.values()]


@dataclass(frozen=True)
class SettingsComparison:
    """All panels of a comparison over settings, and notes on what they do not show."""

    axes: tuple[SettingValues, ...]
    panels: tuple[Panel, ...]
    merged: Comparison  # its groups contain the runs of all values
    notes: tuple[str, ...]


def parse_over_keys(text: str) -> list[str]:
    """Return the settings that --over names; raises BadInput unless there are one or two."""
    keys = [key.strip() for key in text.split(",")]
    if not all(keys) or len(keys) > MOST_KEYS or len(set(keys)) < len(keys):
        raise BadInput(f"--over {text}: name one setting or two, like topology.overlap,task.model")
    return keys


def compare_over_settings(
    runs: Sequence[Run],
    keys: Sequence[str],
    target: Target = None,
    baseline: str | None = None,
) -> SettingsComparison:
    """Compare runs over these settings; the baseline only provides the target.

    Raises BadInput if one of the settings does not vary.
    """
    identities = [run.identity for run in runs]
    axes = tuple(setting_values(key, identities) for key in keys)
    words = zip(*(setting_texts(key, identities) for key in keys), strict=True)
    places = {run.path: place for run, place in zip(runs, words, strict=True)}
    alike = [
        dataclasses.replace(run, identity=without_settings(run.identity, keys)) for run in runs
    ]
    base = baseline if target == "baseline" else None
    merged = compare_runs(alike, target=target, baseline=base)
    panels = tuple(
        Panel(section.title, tuple(_series(section.groups, keys, places)))
        for section in merged.sections
    )
    return SettingsComparison(axes, panels, merged, tuple(_notes(panels, axes)))


def _series(
    groups: Iterable[Group], keys: Sequence[str], places: Mapping[Path, Place]
) -> Iterator[Series]:
    for group in groups:
        apart: dict[tuple[str, ...], dict[Place, list[Run]]] = {}
        for run in group.runs:
            place = places[run.path]
            missing_settings = tuple(k for k, word in zip(keys, place, strict=True) if word is None)
            apart.setdefault(missing_settings, {}).setdefault(place, []).append(run)
        for missing_settings, by_place in apart.items():
            found = {
                place: dataclasses.replace(group, runs=tuple(members))
                for place, members in by_place.items()
            }
            yield Series(group.label, missing_settings, found)


def _notes(panels: Iterable[Panel], axes: Sequence[SettingValues]) -> Iterator[str]:
    for panel in panels:
        for axis in axes:
            labels = [
                series.label for series in panel.series if axis.key in series.missing_settings
            ]
            if labels:
                have = "has" if len(labels) == 1 else "have"
                yield f"{panel.title}: {', '.join(labels)} {have} no {axis.key}: the same all along"
        has_target = any(group.target is not None for group in panel.groups)
        for series in panel.series:
            for words in _gaps(series, axes, has_target):
                yield f"{panel.title}, {series.label}{words}"


def _gaps(series: Series, axes: Sequence[SettingValues], has_target: bool) -> Iterator[str]:
    missing = list(_missing(series, axes))
    if len(missing) > _MOST_NAMED:
        missing = [*missing[:_MOST_NAMED], f"{len(missing) - _MOST_NAMED} more"]
    if missing:
        yield f": no finished run at {'; '.join(missing)}"
    for place, group in series.groups.items():
        where = "".join(f" {word}" for word in place if word is not None)
        if group.spread(FINAL) is None:
            yield f"{where}: no model was evaluated"
        if has_target and group.target is None:
            yield f"{where}: no target, so no time to it"


def _missing(series: Series, axes: Sequence[SettingValues]) -> Iterator[str]:
    own = [(None,) if axis.key in series.missing_settings else axis.texts for axis in axes]
    for place in product(*own):
        if place not in series.groups:
            named = zip(axes, place, strict=True)
            yield ", ".join(f"{axis.key} = {word}" for axis, word in named if word is not None)
