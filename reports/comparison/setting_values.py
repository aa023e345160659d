"""The values of a setting that runs are compared over, as texts and, if possible, as numbers."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from contracts.errors import BadInput
from reports.comparison.labels import NAMED_ALREADY, FlatSettings
from scenarios import quantities
from scenarios.suggestions import did_you_mean

_UNITS: tuple[Callable[[str], float], ...] = (
    quantities.bits_per_second,
    quantities.seconds,
    quantities.size_in_bytes,
    quantities.share,
)
_DECADES = 2  # numbers that span more decades are put on a logarithmic axis


@dataclass(frozen=True)
class SettingValues:
    """All values of a setting: numbers in rising order, others in order of appearance."""

    key: str
    texts: tuple[str, ...]
    numbers: tuple[float, ...] | None  # None unless all of them are numbers

    @property
    def names(self) -> list[str]:
        """The values as written, without a trailing ".0"."""
        return [word.removesuffix(".0") if self.numbers else word for word in self.texts]

    @property
    def logarithmic(self) -> bool:
        """Whether the numbers are so far apart that they need a logarithmic axis."""
        return self.numbers is not None and spans_decades(self.numbers)

    def position(self, word: str) -> float:
        """Return a value's position along an axis."""
        number = self.texts.index(word)
        return float(number) if self.numbers is None else self.numbers[number]


def setting_values(key: str, identities: Sequence[FlatSettings]) -> SettingValues:
    """Return the values of a setting; raises BadInput if there are fewer than two."""
    if key in NAMED_ALREADY:
        raise BadInput(f"--over {key}: runs are told apart by it already; name a setting")
    words = list(dict.fromkeys(word for word in setting_texts(key, identities) if word is not None))
    if len(words) < 2:
        known = [name for name in _names(identities) if varies(name, identities)]
        fault = f"it is {words[0]} in all runs" if words else "no run has this setting"
        remedy = did_you_mean(key, known) if known else "no setting varies among these runs"
        raise BadInput(f"--over {key}: {fault}; {remedy}")
    numbers = _numbers(words)
    if numbers is None:
        return SettingValues(key, tuple(words), None)
    rising = sorted(zip(numbers, words, strict=True))
    return SettingValues(
        key, tuple(word for _, word in rising), tuple(number for number, _ in rising)
    )


def setting_texts(key: str, identities: Sequence[FlatSettings]) -> list[str | None]:
    """Return each scenario's value of a setting; None where it has none."""
    tables = [
        {name[len(key) + 1 :]: text for name, text in flat.items() if _belongs(name, key)}
        for flat in identities
    ]
    return [_word(table, tables) if table else None for table in tables]


def without_settings(flat: FlatSettings, keys: Iterable[str]) -> dict[str, str]:
    """Return all settings except these."""
    unwanted = tuple(keys)
    return {
        name: text for name, text in flat.items() if not any(_belongs(name, k) for k in unwanted)
    }


def varies(key: str, identities: Sequence[FlatSettings]) -> bool:
    """Whether the setting has several values among these scenarios."""
    return len(set(setting_texts(key, identities)) - {None}) > 1


def spans_decades(numbers: Iterable[float]) -> bool:
    """Whether the numbers are so far apart that only a logarithmic axis shows them all."""
    known = list(numbers)
    return min(known) > 0 and math.log10(max(known) / min(known)) > _DECADES


def _belongs(name: str, key: str) -> bool:
    return name == key or name.startswith(f"{key}.")


def _word(table: Mapping[str, str], tables: Sequence[Mapping[str, str]]) -> str:
    """Describe a link or device by its profile, and by how it differs from others with it."""
    if "" in table:
        return table[""]  # the setting is not a table
    if all(name.partition(".")[0].isdecimal() for name in table):
        return ", ".join(table.values())
    profile = table.get("profile")
    alike = [other for other in tables if other and other.get("profile") == profile]
    differing = [name for name in table if len({other.get(name) for other in alike}) > 1]
    shown = differing or ([] if profile else list(table))
    return " ".join([*([profile] if profile else []), *(f"{n}={table[n]}" for n in shown)])


def _names(identities: Sequence[FlatSettings]) -> list[str]:
    """Return every setting, including links and devices as a whole."""
    names = dict.fromkeys(name for flat in identities for name in flat)
    wholes = [name.rpartition(".")[0] for name in names if name.endswith(".profile")]
    return [name for name in (*names, *wholes) if name not in NAMED_ALREADY]


def _numbers(words: Sequence[str]) -> list[float] | None:
    for unit in _UNITS:
        try:
            return [_number(word, unit) for word in words]
        except ValueError:
            continue
    return None


def _number(word: str, unit: Callable[[str], float]) -> float:
    try:
        number = float(word)
    except ValueError:
        return unit(word)
    if not math.isfinite(number):
        raise ValueError(word)
    return number
