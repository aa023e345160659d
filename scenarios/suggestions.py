"""Did you mean ...?"""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A clause for an error sentence: the closest known word, or all of them when few."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return "known: " + ", ".join(words)
