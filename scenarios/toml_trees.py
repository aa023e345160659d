"""Reads TOML that somebody wrote into plain data, within bounds that every later step can rely on.

Nothing is nested deeply, numbers have at most 64 bits (as TOML promises), and no text has a
character that could end a path or a line of a table.
"""

import tomllib
from pathlib import Path
from typing import Any

from contracts.errors import BadInput
from contracts.regular_files import read_regular

_LARGEST = 4 << 20  # bytes of a file: ten times a table for each of 4000 hosts
_DEEPEST = 32
_INTEGERS = range(-(2**63), 2**63)
_ALLOWED = "\t\n\r"  # of the control characters: what an `about` may have


def read(path: Path) -> dict[str, Any]:
    """Read a file; BadInput if it cannot be read, or holds something else."""
    try:
        return parse(read_regular(path, _LARGEST).decode("utf-8"))
    except ValueError as error:
        raise BadInput(f"{path}: not valid TOML ({error}); correct that line") from None
    except OSError as error:
        raise BadInput(
            f"{path}: cannot be read ({error.strerror}); check its permissions"
        ) from None


def parse(text: str) -> dict[str, Any]:
    """Read text; ValueError says what is wrong with it."""
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python refuses to read a number of thousands of digits
        raise ValueError(_TOO_LARGE) from None
    check(tree)
    return tree


def check(tree: Any) -> None:
    """Raise ValueError if plain data are beyond the bounds."""
    left = [(tree, 0)]
    while left:
        part, depth = left.pop()
        if depth > _DEEPEST:
            raise ValueError(_TOO_DEEP)
        if isinstance(part, dict):
            left += [(inner, depth + 1) for pair in part.items() for inner in pair]
        elif isinstance(part, list):
            left += [(inner, depth + 1) for inner in part]
        elif isinstance(part, int) and part not in _INTEGERS:
            raise ValueError(_TOO_LARGE)
        elif isinstance(part, str) and not part.isprintable():
            _check_characters(part)


def _check_characters(text: str) -> None:
    for character in text:
        if (character < " " and character not in _ALLOWED) or character == "\x7f":
            raise ValueError(f"a text has the character {character!r}, which nothing here may have")


_TOO_DEEP = f"it is nested more than {_DEEPEST} deep"
_TOO_LARGE = "a number has more than 64 bits"
