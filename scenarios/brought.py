"""Checks of what plug-ins bring: each mistake is one sentence with the plug-in's file and line."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from contracts.errors import BadInput
from contracts.plugins import KINDS, Plugin, brought
from contracts.registry import Registry
from learning.data.datasets import DATASETS
from learning.data.partitions import PARTITIONS
from learning.models.registry import MODELS
from netem import profiles
from protocols import registry
from scenarios.schema import ComputingCosts, Scenario
from scenarios.sections import Link

_ABOUT = ("about", "source")  # keys of a profile that a scenario does not have


def registries() -> list[Registry[Any]]:
    """Return all that plug-ins can add to."""
    own: list[Registry[Any]] = [registry.PROTOCOLS, MODELS, DATASETS, PARTITIONS]
    return [*own, profiles.links(), profiles.devices()]


def parts_by_name(scenario: Scenario) -> list[tuple[Registry[Any], str]]:
    """Return the names in a scenario that stand for code, each with where it is looked up."""
    task = scenario.task
    return [
        (registry.PROTOCOLS, scenario.protocol.name),
        (MODELS, task.model),
        (DATASETS, task.dataset),
        (PARTITIONS, task.partition),
    ]


def check_brought() -> None:
    """Raise BadInput about the first thing that is wrong with a plug-in of this process."""
    for known in registries():
        for plugin in brought():
            for name, found in plugin.names(known.kind).items():
                if name in known.own:
                    raise BadInput(
                        f'{plugin.place(known.kind, name)}: {KINDS[known.kind]} "{name}" is one of'
                        " Metronome's own; give yours another name"
                    )
                _check(plugin, known.kind, name, found)


def _check(plugin: Plugin, kind: str, name: str, found: Any) -> None:
    if kind == "PROTOCOLS":
        _check_method(plugin, name)
    elif kind in ("LINKS", "DEVICES"):
        _check_profile(plugin, kind, name, found)
    elif not callable(found):
        raise BadInput(
            f'{plugin.place(kind, name)}: {KINDS[kind]} "{name}" is a {type(found).__name__}, and'
            " must be a function (docs/extending.md)"
        )


def _check_method(plugin: Plugin, name: str) -> None:
    if plugin.imports_torch:
        raise BadInput(
            f"{plugin.path}:{plugin.imports_torch}: torch is imported at the top of a file with a"
            " method, which every node loads; import it where it is used, or move the method to a"
            " file of its own"
        )
    fault = registry.method(name).missing_step()
    if fault is not None:
        raise BadInput(f'{plugin.place("PROTOCOLS", name)}: protocol "{name}": {fault}')


def _check_profile(plugin: Plugin, kind: str, name: str, found: Any) -> None:
    section: type[BaseModel] = Link if kind == "LINKS" else ComputingCosts
    place = f'{plugin.place(kind, name)}: {KINDS[kind]} "{name}"'
    if not isinstance(found, Mapping):
        raise BadInput(f"{place} is no table of keys; see netem/profiles/{kind.lower()}.toml")
    try:
        section.model_validate({key: found[key] for key in found if key not in _ABOUT})
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"])) or "keys"
        message = problem["msg"].removeprefix("Value error, ")
        raise BadInput(f"{place}: {key}: {message[0].lower()}{message[1:]}; correct it") from None
