"""This machine's settings of pip, taken along to another: its variables, files and folders."""

import configparser
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Settings whose values are places that packages come from.
_PLACES = ("find-links", "index-url", "extra-index-url")


@dataclass
class PipSettings:
    """What pip was told, and what of it is on this machine's disk."""

    variables: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)

    def text(self) -> str:
        """Return the values as the text of a pip.conf."""
        lines: list[str] = []
        for section, values in self.values.items():
            lines += [f"[{section}]", *(f"{name} = {value}" for name, value in values.items())]
        return "\n".join(lines) + "\n" if lines else ""

    def folders(self) -> list[Path]:
        """Return the folders that packages come from, of this machine."""
        found = (_folder(word) for name in _PLACES for word in self._words(name))
        return sorted({folder for folder in found if folder})

    def certificate(self) -> Path | None:
        """Return the file of certificates that pip trusts instead of its own."""
        words = self._words("cert")
        return Path(words[0]) if words else None

    def _words(self, name: str) -> list[str]:
        variable = self.variables.get(f"PIP_{name.upper().replace('-', '_')}", "")
        values = [section.get(name, "") for section in self.values.values()]
        return " ".join([variable, *values]).split()


def of_this_machine() -> PipSettings:
    """Read the settings from the places that pip documents, later ones on top."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    files = [Path("/etc/pip.conf"), home / ".pip/pip.conf", config / "pip/pip.conf"]
    if named := os.environ.get("PIP_CONFIG_FILE"):
        files.append(Path(named))
    return read(os.environ, (file.read_text() for file in files if file.is_file()))


def read(environment: Mapping[str, str], texts: Iterable[str]) -> PipSettings:
    """Read the settings from variables and from the texts of files."""
    parser = configparser.RawConfigParser()
    for text in texts:
        parser.read_string(text)
    variables = {
        name: value
        for name, value in environment.items()
        if name.startswith("PIP_") and name not in ("PIP_CONFIG_FILE", "PIP_CACHE_DIR")
    }
    values = {section: dict(parser.items(section)) for section in parser.sections()}
    return PipSettings(variables, values)


def copy_files(settings: PipSettings, root: Path) -> None:
    """Write the settings, and the certificates that they name, below a machine's root."""
    (root / "etc/pip.conf").write_text(settings.text())
    if (file := settings.certificate()) and file.is_file():
        there = root / file.relative_to("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, there)


def _folder(word: str) -> Path | None:
    """Return the folder that a word names, if it names one of this machine."""
    path = Path(re.sub(r"^file:/{2,3}(localhost/)?", "/", word))
    if not path.is_absolute() or not path.is_dir():
        return None
    # The pages of an index refer to packages beside it.
    return path.parent if path.name == "simple" else path
