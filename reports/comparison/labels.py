"""Find what distinguishes scenarios, and label them accordingly."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# These change neither what is learned nor how long it takes on the emulated network.
_NO_DIFFERENCE = ("seed", "about", "compute.workers")
NAMED_ALREADY = ("name", "variant", "size")
_WITH_PROFILES = ("links", "devices")
_MEASURED = "host"  # the device whose speed is measured before every run

FlatSettings = Mapping[str, str]


def identity(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a resolved scenario to `section.key` and value, leaving out the seed."""
    named = {
        section: {key: _named(entry) for key, entry in scenario[section].items()}
        for section in _WITH_PROFILES
        if isinstance(scenario.get(section), Mapping)
    }
    flat = {key: text for key, text in _flatten({**scenario, **named}) if key not in _NO_DIFFERENCE}
    measured = [entry for entry in _entries(flat) if flat.get(f"{entry}.profile") == _MEASURED]
    for entry in measured:
        flat.pop(f"{entry}.speed", None)
        flat.pop(f"{entry}.memory", None)
    return flat


def _named(entry: Any) -> Any:
    """Give a drawn link or device one name: a mix's shares, a table, or a profile's spread."""
    if not isinstance(entry, Mapping):
        return entry
    if isinstance(entry.get("table"), str):
        return {**entry, "profile": f"table {entry['table']}"}
    if entry.get("spread") is not None and "profile" in entry:
        return {**entry, "profile": f"{entry['profile']} spread {entry['spread']}"}
    mix = entry.get("mix")
    if not isinstance(mix, list) or not all(isinstance(p, Mapping) and "profile" in p for p in mix):
        return entry
    whole = sum(float(part["share"]) for part in mix)
    parts = (f"{100 * float(part['share']) / whole:.6g} % {part['profile']}" for part in mix)
    details = [{key: value for key, value in part.items() if key != "profile"} for part in mix]
    return {"profile": " + ".join(parts), "parts": details}


def distinct_labels(bases: Sequence[str], identities: Sequence[FlatSettings]) -> list[str]:
    """Return the names, with what differs added wherever several are equal."""
    labels = list(bases)
    for base in set(bases):
        places = [place for place, other in enumerate(bases) if other == base]
        if len(places) > 1:
            words = differences([identities[place] for place in places])
            for place, more in zip(places, words, strict=True):
                labels[place] = " ".join([base, *more])
    return labels


def differences(identities: Sequence[FlatSettings]) -> list[list[str]]:
    """Return, for each scenario, its values of the keys that are not the same everywhere."""
    keys = dict.fromkeys(key for flat in identities for key in flat)
    differing = [k for k in keys if len({flat.get(k) for flat in identities}) > 1]
    told = [entry for entry in _entries(differing) if _profile_tells(entry, identities)]
    shown = [
        key
        for key in differing
        if key not in NAMED_ALREADY
        and (key.endswith(".profile") or not any(key.startswith(f"{entry}.") for entry in told))
    ]
    return [[f"{_short(key)}={flat[key]}" for key in shown if key in flat] for flat in identities]


def _flatten(tree: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _flatten(value, f"{place}.{key}" if place else str(key))
    elif isinstance(tree, list) and not tree:
        yield place, "none"  # an empty list is a value, unlike a missing key
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _flatten(value, f"{place}.{number}")
    else:
        yield place, str(tree).lower() if isinstance(tree, bool) else str(tree)


def _entries(keys: Any) -> list[str]:
    """Return the links and devices among these keys, such as links.edge-cloud or devices.client."""
    parts = [key.split(".") for key in keys]
    found = (".".join(p[:2]) for p in parts if p[0] in _WITH_PROFILES and len(p) > 2)
    return list(dict.fromkeys(found))


def _profile_tells(entry: str, identities: Sequence[FlatSettings]) -> bool:
    """Whether the profile's name alone identifies the entry: equal names, equal settings."""
    meaning: dict[str, dict[str, str]] = {}
    for flat in identities:
        whole = {key: text for key, text in flat.items() if key.startswith(f"{entry}.")}
        name = flat.get(f"{entry}.profile")
        if name is None or meaning.setdefault(name, whole) != whole:
            return False
    return True


def _short(key: str) -> str:
    section, _, rest = key.partition(".")
    if section in _WITH_PROFILES:
        return rest.removesuffix(".profile")
    return "protocol" if key == "protocol.name" else key
