"""Chooses the source that the guest's kernel is built from: the newest that is known to work."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path("/usr/src")

Version = tuple[int, int]

OLDEST: Version = (6, 1)
NEWEST: Version = (7, 2)
# Built, and measured to be exact and repeatable in every byte; docs/fidelity.md has the figures.
PROVEN: frozenset[Version] = frozenset({(6, 1), (6, 12)})
# Versions that were tried and are not used, each with the reason.
REFUSED: dict[Version, str] = {}

# What unpacks an archive, by the end of its name: the program, and the package that has it.
PROGRAMS = {
    "xz": ("xz", "xz-utils"),
    "bz2": ("bzip2", "bzip2"),
    "zst": ("zstd", "zstd"),
    "gz": ("gzip", "gzip"),
}
_NAME = re.compile(r"linux-source-(\d+)\.(\d+)(?:\.\d+)?\.tar\.(xz|bz2|zst|gz)")


@dataclass(frozen=True)
class Source:
    """One archive of a kernel's source, as a distribution's package installs it."""

    path: Path
    version: Version
    packing: str  # the end of its name: xz, bz2, zst or gz

    @property
    def top(self) -> str:
        """The folder that everything in the archive is in."""
        return self.path.name.partition(".tar.")[0]

    @property
    def version_text(self) -> str:
        """The version as people write it."""
        return f"{self.version[0]}.{self.version[1]}"

    def refusal(self) -> str | None:
        """Return why this source is not used; None when it may be."""
        if self.version in REFUSED:
            return REFUSED[self.version]
        if self.version < OLDEST:
            return f"older than {OLDEST[0]}.{OLDEST[1]}"
        if self.version > NEWEST:
            return f"newer than {NEWEST[0]}.{NEWEST[1]}, the newest that was tried"
        return None

    def doubt(self) -> str:
        """Return what to add where this source is named: that nobody has measured its kernel."""
        return "" if self.version in PROVEN else "; this version is not among the proven ones"


def all_sources(place: Path | None = None) -> list[Source]:
    """Find every kernel source on this machine, newest first.

    Debian has the archive itself in /usr/src; Ubuntu has it in a directory of the same name, with
    a link to it beside the directory.
    """
    place = place or SOURCES
    found: dict[Path, Source] = {}
    for path in sorted(
        (*place.glob("linux-source-*.tar.*"), *place.glob("linux-source-*/linux-source-*.tar.*"))
    ):
        name = _NAME.fullmatch(path.name)
        if name and path.is_file():
            real = path.resolve()
            found.setdefault(real, Source(real, (int(name[1]), int(name[2])), name[3]))
    return sorted(
        found.values(), key=lambda source: (source.version, str(source.path)), reverse=True
    )


def candidates(sources: Sequence[Source]) -> list[Source]:
    """Return the sources that may be tried: the proven ones, then the others, each newest first."""
    usable = [source for source in sources if source.refusal() is None]
    return sorted(
        usable, key=lambda source: (source.version in PROVEN, source.version), reverse=True
    )
