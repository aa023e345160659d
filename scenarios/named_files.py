"""Files that a scenario names: one of those that come with Metronome, or the user's own."""

from collections.abc import Mapping
from pathlib import Path

from contracts.errors import BadInput
from scenarios.suggestions import did_you_mean


def find(name_or_file: str, known: Mapping[str, Path], what: str, place: str) -> Path:
    """Return the file; BadInput, at this place of the scenario, if it is neither."""
    path = known.get(name_or_file, Path(name_or_file))
    if not path.is_file():
        raise BadInput(
            f'{place}: "{name_or_file}" is neither a file nor a {what} that comes with Metronome; '
            f"{did_you_mean(name_or_file, known)}"
        )
    return path


def read(path: Path, what: str, kind: str = "CSV") -> str:
    """Return the file's text; BadInput if it has none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"{path}: cannot be read as text; name a {kind} file of {what}") from None
