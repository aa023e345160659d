"""The error for a user's mistakes: the command line prints its sentence and exits with code 2."""

_LONGEST = 2000  # characters: what a user wrote may be of any length, and stand in it


class BadInput(Exception):
    """One sentence that names the place, what is wrong there, and the remedy."""

    def __init__(self, sentence: str) -> None:
        line = " ".join(sentence.splitlines())  # what a user wrote may have line ends
        if len(line) > _LONGEST:
            line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
        super().__init__("".join(c if c.isprintable() else "?" for c in line))
