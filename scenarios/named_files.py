"""Files that a scenario names: one of those that come with Metronome, or the user's own."""

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from contracts.errors import BadInput
from contracts.regular_files import open_regular_text, read_regular
from scenarios.suggestions import did_you_mean

MOST_ROWS = 100_000  # nearly three hours of ten rows a second
_LARGEST = 64 << 20  # bytes of a file that is read as a whole
_LONGEST_LINE = 10_000  # characters

Lines = Iterator[tuple[int, str]]  # the line's number in its file, and the line


def find(name_or_file: str, known: Mapping[str, Path], what: str, place: str) -> Path:
    """Return the file; BadInput, at this place of the scenario, if it is neither."""
    path = known.get(name_or_file, Path(name_or_file))
    if not os.path.isfile(path):
        raise BadInput(
            f'{place}: "{name_or_file}" is neither a file nor a {what} that comes with Metronome; '
            f"{did_you_mean(name_or_file, known)}"
        )
    return path


def read(path: Path, what: str, kind: str = "CSV") -> str:
    """Return the file's text; BadInput if it has none."""
    try:
        return read_regular(path, _LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _no_text(path, what, kind, error) from None


def lines(path: Path, what: str) -> Lines:
    """Yield a table's lines one by one, without empty ones and those that begin with #."""
    try:
        with open_regular_text(path, newline=None) as file:
            yield from rows(_bounded(file, path), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise _no_text(path, what, "CSV", error) from None


def rows(text: Iterator[str], name: str) -> Lines:
    """Number the lines and leave out those that say nothing; `name` is for error messages."""
    for number, line in enumerate(text, 1):
        plain = line.rstrip("\r\n").removeprefix("\ufeff" if number == 1 else "")
        if "\0" in plain:
            raise BadInput(f"{name}, line {number}: has a zero byte; give plain text")
        if plain.strip() and not plain.startswith("#"):
            yield number, plain


def bounded(found: Lines, name: str) -> Lines:
    """Yield the lines; BadInput once there are more than anything here can use."""
    for count, line in enumerate(found, 1):
        if count > MOST_ROWS:
            raise BadInput(f"{name}: has more than {MOST_ROWS} rows; give fewer, or a part of them")
        yield line


def _bounded(file: Iterator[str], path: Path) -> Iterator[str]:
    for line in file:
        if len(line) > _LONGEST_LINE:
            raise BadInput(f"{path}: a line has {len(line)} characters; give one row a line")
        yield line


def _no_text(path: Path, what: str, kind: str, error: Exception) -> BadInput:
    why = f" ({error.strerror})" if isinstance(error, OSError) else ""
    return BadInput(f"{path}: cannot be read as text{why}; name a {kind} file of {what}")
