"""Loads a scenario by name or file, applies the command line's changes, and checks the result."""

import dataclasses
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import tomli_w
from pydantic import BaseModel, TypeAdapter, ValidationError

from contracts.errors import BadInput
from learning.data import datasets, partitions
from learning.models import registry as models
from netem import profiles
from protocols import registry
from scenarios import events, toml_trees
from scenarios.consistency import check_consistency
from scenarios.files import Choices, choices, library, tree_with_choices
from scenarios.schema import Scenario
from scenarios.suggestions import did_you_mean
from scenarios.trace_files import resolve_trace_paths

__all__ = ["Choices", "check", "choices", "dump", "library", "load", "protocol_settings"]

_BY_CONCENTRATION = ("dirichlet", "dirichlet-by-class")
_MOST_DOTS = 8  # in a key of --set
_NOT_KEYS = ("[key]", "str", "float", "int")  # pydantic's additions to the path of a problem


def load(
    name_or_file: str,
    changes: Sequence[str] = (),
    links: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    variant: str | None = None,
    size: str | None = None,
) -> Scenario:
    """Read a scenario, change it and check it; BadInput says in one sentence what is wrong.

    `changes` are "KEY=VALUE" (--set), `links` are "TIER=PROFILE" (--links), and `overrides` replace
    top-level values unless they are None.
    """
    tree = tree_with_choices(name_or_file, variant, size)
    for text in links:
        tier, profile = _split(text, "--links", "edge-cloud=lte")
        _section(tree, "links")[tier] = profile
    for text in changes:
        key, value = _split(text, "--set", "protocol.rounds=5")
        _assign(tree, key.split("."), _toml_value(value, f"--set {key}"), place=f"--set {key}")
    tree.update({key: value for key, value in (overrides or {}).items() if value is not None})
    return check(resolve_trace_paths(tree, Path.cwd()))  # files that the command line names


def check(tree: dict[str, Any]) -> Scenario:
    """Make a Scenario of plain data: fill in profiles and check everything.

    Raises BadInput with one sentence about the first problem.
    """
    tree = dict(tree)
    for section, named in (("links", profiles.links()), ("devices", profiles.devices())):
        entries = tree.get(section, {})
        if not isinstance(entries, dict):
            raise BadInput(f"{section}: must be a table; see docs/scenarios.md")
        tree[section] = {
            key: _with_profile(f"{section}.{key}", entry, named) for key, entry in entries.items()
        }
    if isinstance(tree.get("hosts"), dict):
        tree["hosts"] = {name: _host(name, entry) for name, entry in tree["hosts"].items()}
    tree["timeline"] = _events(tree.get("timeline", []))
    try:
        scenario = Scenario.model_validate(tree)
    except ValidationError as error:
        raise BadInput(_sentence(error)) from None
    _check_names(scenario)
    return scenario


def dump(scenario: Scenario) -> str:
    """Write the resolved scenario as TOML that can be run again as it is."""
    return tomli_w.dumps(scenario.model_dump(exclude_none=True, by_alias=True))


def protocol_settings(scenario: Scenario) -> Any:
    """Return the checked `Settings` object of the scenario's method."""
    name, given = scenario.protocol.name, scenario.protocol.model_dump(exclude={"name"})
    settings = registry.method(name).Settings
    types = get_type_hints(settings)
    for field in dataclasses.fields(settings):
        needed = field.default is field.default_factory is dataclasses.MISSING
        if needed and field.name not in given:
            raise BadInput(f'protocol.{field.name}: missing; protocol "{name}" needs it')
    for key, value in given.items():
        if key not in types:
            known = did_you_mean(key, types)
            raise BadInput(f'protocol.{key}: protocol "{name}" has no such setting; {known}')
        try:
            TypeAdapter(types[key]).validate_python(value, strict=True)
        except ValidationError as error:
            raise BadInput(_sentence(error, "protocol", key)) from None
    try:
        return settings(**given)
    except ValueError as error:
        raise BadInput(f"protocol: {error}; correct it (docs/scenarios.md)") from None


def _split(text: str, option: str, example: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip() or not text.isprintable():
        raise BadInput(f'{option} {text}: write it like "{option} {example}", in one line')
    if key.count(".") > _MOST_DOTS:
        raise BadInput(f"{option} {key[:40]}...: no key has so many parts; name one")
    return key.strip(), value.strip()


def _toml_value(text: str, place: str) -> Any:
    """Read the value as TOML; what is not valid TOML (20mbit) is a plain string."""
    try:
        return toml_trees.parse(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except ValueError as error:
        raise BadInput(f"{place}: {error}; correct it (docs/scenarios.md)") from None


def _section(tree: dict[str, Any], name: str) -> dict[str, Any]:
    section = tree.setdefault(name, {})
    if not isinstance(section, dict):
        raise BadInput(f"{name}: must be a table; see docs/scenarios.md")
    return section


def _assign(tree: dict[str, Any], path: list[str], value: Any, place: str) -> None:
    *parents, last = path
    for depth, name in enumerate(parents):
        child = tree.setdefault(name, {})
        if isinstance(child, str) and path[0] in ("links", "devices") and depth == 1:
            child = tree[name] = {"profile": child}  # start from the profile the scenario named
        if not isinstance(child, dict):
            raise BadInput(f'{place}: "{".".join(parents[: depth + 1])}" has no keys of its own')
        tree = child
    if path[0] == "links":
        _drop_conflicting_rates(tree, (last,))
    tree[last] = value


def _drop_conflicting_rates(link: dict[str, Any], keys: Iterable[str]) -> None:
    """Remove from a link the rates that would contradict the keys about to be set."""
    if "rate" in keys:
        link.pop("rate_up", None)
        link.pop("rate_down", None)
    elif ("rate_up" in keys or "rate_down" in keys) and "rate" in link:
        link["rate_up"] = link["rate_down"] = link.pop("rate")


def _with_profile(place: str, entry: Any, named: Mapping[str, dict[str, Any]]) -> Any:
    """Turn a profile's name, or a table based on a profile, into one complete table."""
    if isinstance(entry, str):
        entry = {"profile": entry}
    if isinstance(entry, dict) and isinstance(entry.get("mix"), dict):
        parts = [{"profile": name, "share": share} for name, share in entry["mix"].items()]
        entry = entry | {"mix": [_with_profile(f"{place}.mix", part, named) for part in parts]}
    if not isinstance(entry, dict) or "profile" not in entry:
        return entry
    name = entry["profile"]
    if not isinstance(name, str) or name not in named:
        raise BadInput(
            f'{place}: unknown profile "{name}"; {did_you_mean(str(name), named)} '
            "(metronome profiles lists them)"
        )
    base = {key: value for key, value in named[name].items() if key not in ("about", "source")}
    _drop_conflicting_rates(base, entry)
    if "delay" in entry:
        base.pop("jitter", None)  # a profile's jitter belongs to the profile's delay
    return base | entry


def _host(name: str, entry: Any) -> Any:
    """Fill in the profiles of one host's own link and device."""
    if not isinstance(entry, dict):
        return entry
    named = {"link": profiles.links(), "device": profiles.devices()}
    return {
        key: _with_profile(f"hosts.{name}.{key}", value, named[key]) if key in named else value
        for key, value in entry.items()
    }


def _events(entries: Any) -> list[Any]:
    """Check each event against its own type, and fill in the profiles of link events."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadInput("timeline: must be a list of tables, each under [[timeline]]")
    found = []
    for number, entry in enumerate(entries, 1):
        place, name = f"timeline.{number}", entry.get("event")
        if not isinstance(name, str) or name not in events.EVENT_TYPES:
            given = f'unknown event "{name}"' if "event" in entry else "missing"
            raise BadInput(f"{place}.event: {given}; {did_you_mean(str(name), events.EVENT_TYPES)}")
        if name == "link":
            entry = _with_profile(f"{place}.profile", entry, profiles.links())
        try:
            events.EVENT_TYPES[name].model_validate(entry)
        except ValidationError as error:
            prefix = ("timeline", str(number))
            raise BadInput(_sentence(error, *prefix, section=events.EVENT_TYPES[name])) from None
        found.append(entry)
    return found


def _sentence(error: ValidationError, *prefix: str, section: type[BaseModel] = Scenario) -> str:
    """Describe one problem in one sentence: where (counting from 1), what is wrong, remedy."""
    # A misspelled key is often reported as missing too; its spelling is the more helpful problem.
    problem = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    loc = [part + 1 if isinstance(part, int) else part for part in problem["loc"]]
    path = [str(part) for part in loc if part not in _NOT_KEYS]
    place = ".".join([*prefix, *path]) or "scenario"
    if problem["type"] == "extra_forbidden":
        return f"{place}: unknown key; {did_you_mean(path[-1], _known_keys(path[:-1], section))}"
    if problem["type"] == "missing":
        return f"{place}: missing; add this key (docs/scenarios.md describes it)"
    if problem["type"] in ("model_type", "dict_type"):
        return f"{place}: must be a table; see docs/scenarios.md"
    message = problem["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if problem["type"] == "value_error":
        return f"{place}: {message}"  # our own message already names value and remedy
    value = problem["input"]
    given = f" (given: {value})" if isinstance(value, str | int | float) else ""
    return f"{place}: {message}{given}; correct it (docs/scenarios.md)"


def _known_keys(path: list[str], model: type[BaseModel]) -> list[str]:
    """Return the keys of the section at that path; names of tiers and roles are skipped."""
    for name in path:
        if name in model.model_fields:
            model = next(_models(model.model_fields[name].annotation), model)
    return [field.alias or name for name, field in model.model_fields.items()]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the sections in a type annotation, also inside lists and unions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _check_names(scenario: Scenario) -> None:
    """Check what types cannot: names must exist, and links and devices match the topology."""
    named = (
        ("task.dataset", scenario.task.dataset, datasets.DATASETS, "data set"),
        ("task.model", scenario.task.model, models.MODELS, "model"),
        ("task.partition", scenario.task.partition, partitions.PARTITIONS, "partition"),
        ("protocol.name", scenario.protocol.name, registry.PROTOCOLS, "protocol"),
    )
    for place, name, known, what in named:
        if name not in known:
            raise BadInput(f'{place}: unknown {what} "{name}"; {did_you_mean(name, known)}')
    if scenario.task.partition in _BY_CONCENTRATION and scenario.task.concentration is None:
        raise BadInput("task.concentration: missing; a dirichlet partition needs it (e.g. 1.0)")
    by_labels = scenario.task.partition == "labels-per-client"
    own = scenario.task.partition in partitions.PARTITIONS.own  # one of a plug-in may use any key
    if by_labels and scenario.task.labels_per_client is None:
        raise BadInput("task.labels_per_client: missing; this partition needs it (e.g. 2)")
    if scenario.task.labels_per_client is not None and own and not by_labels:
        raise BadInput(
            f'task.labels_per_client: partition "{scenario.task.partition}" does not use it; '
            'take it out, or set task.partition = "labels-per-client"'
        )
    topology = scenario.topology
    sections: tuple[tuple[str, Iterable[str], Sequence[str], Sequence[str]], ...] = (
        ("links", scenario.links, topology.tiers, topology.shared_links),
        ("devices", scenario.devices, topology.roles, ()),
    )
    for section, given, wanted, possible in sections:
        for key in wanted:
            if key not in given:
                raise BadInput(
                    f"{section}.{key}: missing; a {topology.kind} needs it "
                    f"(metronome profiles lists what it can name)"
                )
        for key in given:
            if key not in (*wanted, *possible):
                raise BadInput(
                    f"{section}.{key}: a {topology.kind} has no such part; "
                    f"it has {', '.join((*wanted, *possible))}"
                )
    check_consistency(scenario, protocol_settings(scenario))
