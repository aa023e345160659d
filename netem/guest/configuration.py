"""Checks that a configured kernel has the options that were asked for."""

import re
from collections.abc import Iterator

# A paragraph of kernel.config that begins with this has options that not every version knows.
WHERE_KNOWN = "# Where known:"
_OPTION = re.compile(r"^(CONFIG_\w+)=(.*)$", re.MULTILINE)


def lost(wanted: str, got: str) -> list[str]:
    """Return the wanted options that the configuration silently dropped.

    The kernel's configuration drops an option when something it depends on is missing.
    """
    have = dict(_OPTION.findall(got))
    known = {name for name, _ in _mentioned(got)}
    return [
        f"{name}={value}"
        for name, value, everywhere in _asked(wanted)
        if have.get(name, "n") != value and (everywhere or name in known)
    ]


def _asked(wanted: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each option's name and value, and whether every version has it."""
    for paragraph in wanted.split("\n\n"):
        everywhere = not paragraph.startswith(WHERE_KNOWN)
        for name, value in _OPTION.findall(paragraph):
            yield name, value, everywhere


def _mentioned(got: str) -> list[tuple[str, str]]:
    """Return the options that the source knows: those that are set, and those that are off."""
    return _OPTION.findall(got) + re.findall(r"^# (CONFIG_\w+) is (not set)$", got, re.MULTILINE)
