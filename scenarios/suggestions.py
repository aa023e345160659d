"""Suggestions for misspelled names in error messages."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a clause for an error message: the closest known word, or else all known words."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return "known: " + ", ".join(words)
