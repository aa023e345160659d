"""Finds and reads scenario files: `extends`, and the choice of a variant and a size."""

import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from scenarios import toml_trees
from scenarios.suggestions import did_you_mean
from scenarios.trace_files import resolve_trace_paths

LIBRARY = Path(__file__).parent / "library"
_MOST_EXTENSIONS = 8  # files in a chain of `extends`
_REPLACED_WHOLE = (
    "links",
    "devices",
)  # whose entries are replaced, not merged


@dataclass(frozen=True)
class Choices:
    """The names of a scenario file's variants and sizes, the default first."""

    variants: tuple[str, ...]
    sizes: tuple[str, ...]


def library() -> dict[str, Path]:
    """Return the scenarios that come with Metronome, by name.

    Files named `_NAME.toml` are only there to be extended and are left out.
    """
    found = sorted(LIBRARY.glob("**/*.toml"))
    return {path.stem: path for path in found if not path.name.startswith("_")}


def choices(name_or_file: str) -> Choices:
    """Return the variants and sizes that the scenario offers."""
    tree = read_tree(find(name_or_file))
    return Choices(tuple(_table(tree, "variants")), tuple(_table(tree, "sizes")))


def tree_with_choices(name_or_file: str, variant: str | None, size: str | None) -> dict[str, Any]:
    """Read a scenario and merge a size and a variant into it, by default the first of each."""
    path = find(name_or_file)
    tree = read_tree(path)
    for key, options, name in (("size", "sizes", size), ("variant", "variants", variant)):
        known = _table(tree, options)
        tree.pop(options, None)
        name = name or next(iter(known), "")
        if name and name not in known:
            raise BadInput(f"--{key} {name}: {path.name} has no such {key}; {_known(name, known)}")
        if name:
            tree = merge_tables(tree, known[name]) | {key: name}
    return tree


def find(name_or_file: str) -> Path:
    """Return the file of a scenario of the library, or the path itself."""
    path = library().get(name_or_file, Path(name_or_file))
    if not os.path.isfile(path):
        raise BadInput(
            f'scenario "{name_or_file}": neither a file nor in the library; '
            f"{did_you_mean(name_or_file, library())} (metronome list shows them)"
        )
    return path


def read_tree(path: Path, depth: int = 0) -> dict[str, Any]:
    """Read a TOML file, merged over the file that it extends, if any."""
    tree: dict[str, Any] = resolve_trace_paths(toml_trees.read(path), path.parent)
    if (base := tree.pop("extends", None)) is None:
        return tree
    below = path.parent / str(base)
    if not os.path.isfile(below):
        raise BadInput(f'{path}: extends "{base}", which is not there; name a file beside it')
    if depth == _MOST_EXTENSIONS:
        raise BadInput(f"{path}: extends files in a circle; let one of them stand alone")
    return merge_tables(read_tree(below, depth + 1), tree)


def merge_tables(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `above` over `below`: tables key by key, anything else replaced.

    An entry of [links] or [devices] is replaced as a whole. So is a table of another `kind`, since
    it has other keys.
    """
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if not isinstance(value, dict) or not isinstance(old, dict) or _another_kind(old, value):
            result[key] = value
        else:
            result[key] = old | value if key in _REPLACED_WHOLE else merge_tables(old, value)
    return result


def _another_kind(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "kind" in old and "kind" in new and old["kind"] != new["kind"]


def _table(tree: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    table = tree.get(name, {})
    if not isinstance(table, dict) or not all(isinstance(v, dict) for v in table.values()):
        raise BadInput(f"{name}: must be a table of tables, like [{name}.NAME.protocol]")
    return table


def _known(name: str, known: Mapping[str, Any]) -> str:
    return did_you_mean(name, known) if known else "it has none at all"
