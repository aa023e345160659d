"""The JSON Schema of scenario and sweep files, by which editors complete and check them.

It describes files, which are not the resolved scenario that the schema's classes do: a link may be
a profile's name, a mix a table of names and shares, and any key may stand in the file that
`extends` names, or in a variant. So no key is required but in the rows of lists.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from learning.data.datasets import DATASETS
from learning.data.partitions import PARTITIONS
from learning.models.registry import MODELS
from netem import profiles
from protocols import registry
from scenarios.schema import Scenario
from scenarios.sweeps import Sweep

Tree = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PARTS = {"$ref": "#"}  # of a variant or a size: any part of a scenario


def scenario_schema() -> Tree:
    """Return the schema of scenario files, with all names that are known in this process."""
    tree = _plain(Scenario.model_json_schema())
    parts: dict[str, Tree] = tree["$defs"]
    rows = {name for found in _values(tree, "items") for name in _references(found)}
    for name in parts.keys() - rows:
        parts[name].pop("required", None)
    tree.pop("required", None)
    task = parts["Task"]["properties"]
    task["dataset"] |= {"enum": [*DATASETS]}
    task["model"] |= {"enum": [*MODELS]}
    task["partition"] |= {"enum": [*PARTITIONS]}
    parts["Protocol"] = _protocol()
    links, devices = [*profiles.links()], [*profiles.devices()]
    for name in ("Link", "TierLink", "LinkChange"):
        parts[name]["properties"]["profile"] |= {"enum": links}
    for name in ("Device", "MixedDevice"):
        parts[name]["properties"]["speed"] = {"type": ["number", "string"]}
    parts["Device"]["properties"]["profile"] |= {"enum": devices}
    for name, known in (("TierLink", links), ("Device", devices)):
        mix = parts[name]["properties"]["mix"]
        parts[name]["properties"]["mix"] = {"anyOf": [mix, _shares(known)]}
    keys = tree["properties"]
    keys["links"]["additionalProperties"] = _or_name("TierLink", links)
    keys["devices"]["additionalProperties"] = _or_name("Device", devices)
    host = parts["Host"]["properties"]
    host["link"], host["device"] = _or_name("Link", links), _or_name("Device", devices)
    keys["extends"] = {"type": "string", "description": "a file beside this one, to start from"}
    for name in ("variants", "sizes"):
        keys[name] = {"type": "object", "additionalProperties": _PARTS}
    return {"$schema": _DIALECT, **tree, "title": "A scenario of Metronome"}


def sweep_schema() -> Tree:
    """Return the schema of sweep files."""
    return {"$schema": _DIALECT, **_plain(Sweep.model_json_schema()), "title": "A sweep"}


def _protocol() -> Tree:
    """Return the section [protocol]: the settings of all methods, whichever is named."""
    found: dict[str, list[Tree]] = {}
    for name in registry.PROTOCOLS:
        settings = registry.method(name).Settings
        types = get_type_hints(settings)
        for field in dataclasses.fields(settings):
            kind = _plain(TypeAdapter(types[field.name]).json_schema())
            kinds = found.setdefault(field.name, [])
            if kind not in kinds:
                kinds.append(kind)
    keys = {key: kinds[0] if len(kinds) == 1 else {"anyOf": kinds} for key, kinds in found.items()}
    keys["name"] = {"enum": [*registry.PROTOCOLS]}
    return {"type": "object", "properties": keys, "additionalProperties": False}


def _or_name(part: str, names: list[str]) -> Tree:
    return {"anyOf": [{"enum": names}, {"$ref": f"#/$defs/{part}"}]}


def _shares(names: list[str]) -> Tree:
    return {
        "type": "object",
        "propertyNames": {"enum": names},
        "additionalProperties": {"type": "number", "minimum": 0},
    }


def _plain(tree: Any) -> Any:
    """Leave out what TOML does not have, null, and titles that only repeat a key."""
    if isinstance(tree, list):
        return [_plain(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    kinds = [part for part in tree.get("anyOf", ()) if part != {"type": "null"}]
    if len(kinds) == 1:
        tree = {key: part for key, part in tree.items() if key != "anyOf"} | kinds[0]
    elif kinds:
        tree = tree | {"anyOf": kinds}
    kept = {key: part for key, part in tree.items() if not _is_noise(key, part)}
    return {key: _plain(part) for key, part in kept.items()}


def _is_noise(key: str, part: Any) -> bool:
    return (key == "title" and isinstance(part, str)) or (key == "default" and part is None)


def _values(tree: Any, key: str) -> Iterator[Any]:
    """Yield what stands under a key, anywhere in the tree."""
    if isinstance(tree, dict) and key in tree:
        yield tree[key]
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _values(part, key)


def _references(tree: Any) -> Iterator[str]:
    for found in _values(tree, "$ref"):
        yield str(found).rpartition("/")[2]
